//! The variables that a caller may not set.

use crate::guard::fits;

/// Whether a caller may not set a variable of this name, in capitals.
pub(super) fn is_refused(name: &str) -> bool {
    REFUSED.iter().flat_map(|names| names.split_whitespace()).any(|pattern| fits(pattern.as_bytes(), name.as_bytes()))
}

/// Variables that a caller may not set: they make a program load code, run code, or look for its files elsewhere. A `*`
/// matches any characters. One list of names for each kind of program that obeys them.
const REFUSED: &[&str] =
    &[LOADER, SHELLS, EDITORS, REPOSITORIES, COMPILERS, BUILD_TOOLS, RUST, GO, JAVASCRIPT, PYTHON, JVM, DOTNET, OTHERS];

/// The loader, the C library, and where every program looks for its files.
const LOADER: &str = "\
    DYLD_* GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOME HOSTALIASES LD_* LOCALDOMAIN LOCPATH MALLOC_TRACE NIS_PATH \
    NLSPATH PATH PATHEXT RESOLV_HOST_CONF RES_OPTIONS TMPDIR TZDIR XDG_CONFIG_* XDG_DATA_*";

/// Files that a shell runs when it starts, and commands that it runs in passing.
const SHELLS: &str = "\
    BASHOPTS BASH_ENV BASH_FUNC_* CDPATH COMSPEC CONFIG_SHELL ENV IFS PROMPT_COMMAND PS4 SHELL SHELLOPTS ZDOTDIR";

/// Programs that other programs start for a person: to edit, to page, to ask for a password, to open a page.
const EDITORS: &str = "*ASKPASS *EDITOR *PAGER BROWSER LESSCLOSE LESSKEYIN* LESSOPEN VISUAL";

/// Version control: programs for transport, and settings with hooks and filters.
const REPOSITORIES: &str = "CVS_RSH GIT_* HG HGRCPATH RSYNC_RSH SVN_SSH";

/// Compilers and linkers, and their flags: `-fplugin=`, `-B` and `-fuse-ld=` name code to run. The `cc` crate reads them
/// with the target before or after the name.
const COMPILERS: &str = "\
    *CFLAGS* *CPPFLAGS* *CXXFLAGS* *FFLAGS* *LDFLAGS* *_AR *_CC *_CXX *_LD AR AR_* AS CC CCACHE_* \
    CCC_OVERRIDE_OPTIONS CC_* COMPILER_PATH CPP CXX CXX_* F77 FC GCC_EXEC_PREFIX HOSTCC HOSTCXX LD LIBRARY_PATH NM \
    OBJCOPY PKG_CONFIG* RANLIB SCCACHE_* STRIP";

/// Build tools: files with rules, options such as `--eval`, and the programs that they start.
const BUILD_TOOLS: &str = "\
    ACLOCAL* AUTOCONF AUTOMAKE AUTOM4TE BAZEL* CMAKE_*COMPILER* CMAKE_*LAUNCHER CMAKE_*PATH CMAKE_GENERATOR* \
    CMAKE_TOOLCHAIN_FILE CONFIG_SITE GNUMAKEFLAGS MAKE MAKEFILES MAKEFLAGS MAKEOVERRIDES MFLAGS NINJA";

/// Cargo takes any of its settings from a variable: linkers, runners, wrappers, aliases, credential providers.
const RUST: &str = "\
    CARGO CARGO_*CREDENTIAL* CARGO_*FLAGS CARGO_*LINKER CARGO_*RUNNER CARGO_*RUSTC* CARGO_*RUSTDOC CARGO_ALIAS_* \
    CARGO_HOME CARGO_SOURCE_* CLIPPY_DRIVER_PATH RUSTC RUSTC_* RUSTDOC RUSTDOCFLAGS RUSTFLAGS RUSTFMT RUSTUP_*";

/// `-toolexec` and `-exec` in `GOFLAGS`, and programs for the cache and for authentication.
const GO: &str = "GCCGO GOAUTH GOBIN GOCACHEPROG GOENV GOFLAGS GOPATH GOPROXY GOROOT GOTOOL* GOVCS GOWORK";

/// Modules to load first, shells for scripts, and the package manager that a package manager starts.
const JAVASCRIPT: &str = "\
    BUN_CONFIG_* BUN_INSTALL* BUN_OPTIONS COREPACK_* DENO_DIR ELECTRON_RUN_AS_NODE NODE_OPTIONS NODE_PATH \
    NODE_REPL_EXTERNAL_MODULE NPM_CONFIG_* PNPM_* TS_NODE_* YARN_*";

/// Modules to import (`PYTHONWARNINGS` names a class in one), and where packages come from.
const PYTHON: &str = "\
    COVERAGE_PROCESS_START PIP_*INDEX_URL PIP_CONFIG_FILE PIP_FIND_LINKS PIP_PYTHON PYTEST_ADDOPTS PYTEST_PLUGINS \
    PYTHONBREAKPOINT PYTHONEXECUTABLE PYTHONHOME PYTHONINSPECT PYTHONPATH PYTHONPLATLIBDIR PYTHONPYCACHEPREFIX \
    PYTHONSTARTUP PYTHONUSERBASE PYTHONWARNINGS UV_*INDEX* UV_CONFIG_FILE UV_FIND_LINKS UV_PYTHON*";

/// Agents and class paths, and the options of build tools, which are those of the JVM.
const JVM: &str = "\
    ANT_* CLASSPATH GRADLE_* JAVA_*OPT* JAVA_HOME JDK_*OPTIONS JVM_OPTS KOTLIN_* M2_HOME MAVEN_* \
    ORG_GRADLE_PROJECT_* SBT_OPTS _JAVA_OPTIONS";

/// Hooks, profilers, and properties that name files to import into every build.
const DOTNET: &str = "\
    CORECLR_* COR_* CUSTOMAFTER* CUSTOMBEFORE* DIRECTORYBUILD* DOTNET_ADDITIONAL_DEPS DOTNET_ROOT* \
    DOTNET_SHARED_STORE DOTNET_STARTUP_HOOKS MSBUILD* NUGET_*";

/// Other languages: what to load first, and where from.
const OTHERS: &str = "\
    BUNDLE_* CAML_LD_LIBRARY_PATH COMPOSER* ELIXIR_ERL_OPTIONS ERL_*FLAGS ERL_LIBS GEM_HOME GEM_PATH GHC_* LUA_* \
    NIX_* OCAMLPATH PERL5* PERLLIB PHPRC PHP_INI_SCAN_DIR RAKEOPT RUBYLIB RUBYOPT RUBYSHELL R_ENVIRON* R_HOME \
    R_LIBS* R_PROFILE* SPEC_OPTS SWIFT_EXEC";

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of them makes a build run a program of the caller's choice, or load its code.
    #[test]
    fn variables_that_make_build_tools_run_code_are_refused() {
        for name in [
            "CC",
            "CC_x86_64_unknown_linux_gnu",
            "TARGET_CC",
            "CFLAGS",
            "HOST_CFLAGS",
            "LDFLAGS",
            "MAKEFLAGS",
            "MAKEFILES",
            "CMAKE_TOOLCHAIN_FILE",
            "CMAKE_C_COMPILER_LAUNCHER",
            "RUSTC",
            "RUSTFLAGS",
            "RUSTC_WRAPPER",
            "CARGO_BUILD_RUSTC",
            "CARGO_BUILD_RUSTC_WRAPPER",
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "CARGO_REGISTRY_CREDENTIAL_PROVIDER",
            "CARGO_ALIAS_B",
            "RUSTUP_TOOLCHAIN",
            "GOFLAGS",
            "GOCACHEPROG",
            "GOTOOLCHAIN",
            "CGO_CFLAGS_ALLOW",
            "npm_config_script_shell",
            "YARN_YARN_PATH",
            "PYTEST_ADDOPTS",
            "PYTHONWARNINGS",
            "PIP_EXTRA_INDEX_URL",
            "MAVEN_OPTS",
            "JAVA_OPTS",
            "GRADLE_OPTS",
            "DOTNET_STARTUP_HOOKS",
            "BUNDLE_GEMFILE",
            "PERL5OPT",
        ] {
            assert!(is_refused(&name.to_ascii_uppercase()), "{name}");
        }
    }

    #[test]
    fn variables_that_only_change_what_is_built_or_printed_are_allowed() {
        for name in [
            "CARGO_TARGET_DIR",
            "CARGO_TERM_COLOR",
            "CARGO_BUILD_JOBS",
            "CARGO_BUILD_TARGET",
            "CARGO_NET_OFFLINE",
            "CARGO_PROFILE_RELEASE_LTO",
            "RUST_BACKTRACE",
            "RUST_LOG",
            "CGO_ENABLED",
            "GOOS",
            "GOARCH",
            "GOMAXPROCS",
            "NODE_ENV",
            "CI",
            "DEBUG",
            "PYTHONUNBUFFERED",
            "PYTHONDONTWRITEBYTECODE",
            "PIP_NO_INPUT",
            "UV_OFFLINE",
            "CMAKE_BUILD_PARALLEL_LEVEL",
            "NINJA_STATUS",
            "DJANGO_SETTINGS_MODULE",
            "DATABASE_URL",
            "LANG",
            "LC_ALL",
            "TERM",
            "NO_COLOR",
            "TZ",
            "PORT",
        ] {
            assert!(!is_refused(name), "{name}");
        }
    }
}
