//! The variables that a caller may not set.

use crate::guard::fits;

/// Whether a caller may not set a variable of this name, in capitals.
pub(super) fn is_refused(name: &str) -> bool {
    REFUSED.iter().flat_map(|names| names.split_whitespace()).any(|pattern| fits(pattern.as_bytes(), name.as_bytes()))
}

/// Variables that a caller may not set: they make a program load code, run code, or look for its files elsewhere. A `*`
/// matches any characters. One list of names for each kind of program that obeys them.
const REFUSED: &[&str] = &[
    LOADER,
    LIBRARIES,
    SHELLS,
    EDITORS,
    REPOSITORIES,
    TOOLS,
    CLOUD,
    COMPILERS,
    BUILD_TOOLS,
    MAKE_PROGRAMS,
    VERSION_MANAGERS,
    RUST,
    GO,
    JAVASCRIPT,
    PYTHON,
    RUBY,
    PERL,
    JVM,
    DOTNET,
    OTHERS,
];

/// The loader, the C library, and where every program looks for its files.
const LOADER: &str = "\
    DYLD_* GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOME HOSTALIASES LD_* LOCALDOMAIN LOCALE_ARCHIVE* LOCPATH \
    MALLOC_TRACE NIS_PATH NLSPATH PATH PATHEXT RESOLV_HOST_CONF RES_OPTIONS TERMCAP TERMINFO* TEXTDOMAINDIR TMPDIR \
    TZDIR XDG_CONFIG_* XDG_DATA_*";

/// Libraries that load modules by name or from a directory, in whatever program uses them.
const LIBRARIES: &str = "\
    *SAN_OPTIONS *SYMBOLIZER_PATH CUDA_INJECTION* GBM_BACKENDS_PATH GDK_PIXBUF_MODULE* GIO_EXTRA_MODULES \
    GIO_MODULE_DIR GI_TYPELIB_PATH GNUTLS_* GSS_* GST_* GTK_*MODULE* GTK_EXE_PREFIX GTK_PATH GVBINDIR KRB5* \
    LIBGL_DRIVERS_PATH LIBMYSQL_* LIBVA_DRIVERS_PATH MAGICK_* NVTX_INJECTION* OCL_ICD_* ODBC* OPENSSL_* P11_KIT_* \
    QML*_IMPORT_PATH QT_*PATH QT_PLUGIN* SASL_PATH VK_*";

/// Files that a shell runs when it starts, and commands that it runs in passing.
const SHELLS: &str = "\
    BASHOPTS BASH_* CDPATH COMSPEC CONFIG_SHELL ENV FISH_* FPATH IFS INPUTRC MODULE_PATH NULLCMD PROMPT_COMMAND PS0 \
    PS1 PS2 PS4 PSMODULEPATH READNULLCMD SHELL SHELLOPTS ZDOTDIR ZSH*";

/// Programs that other programs start for a person: to edit, to page, to ask for a password, to open a page. `LESS` and
/// `VIMINIT` hold commands.
const EDITORS: &str = "\
    *ASKPASS *BROWSER *EDITOR *PAGER *SCREENRC *VIMINIT EMACS* EXINIT FCEDIT GROFF_* LESS LESSCLOSE LESSKEY* \
    LESSOPEN MAILCAPS MANOPT MANPATH MANROFF* MORE NVIM_* VIM VIMRUNTIME VISUAL";

/// Version control and transport: programs for it, and settings with hooks and filters.
const REPOSITORIES: &str = "\
    CVS_RSH DIRENV_* GH_CONFIG_DIR GH_PATH GIT_* GNUPGHOME GPG GPG_AGENT_INFO HG HGRCPATH HUB_* LEFTHOOK* MOSH_* \
    PASSWORD_STORE_* PRE_COMMIT_* RSYNC_* SSH_* SVN_SSH TIGRC_* TIG_SCRIPT";

/// Programs of every day whose options, from a variable or from a file that it names, run others.
const TOOLS: &str = "\
    ACKRC ACK_* AWKLIBPATH AWKPATH BAT_* BC_ENV_ARGS BIBINPUTS CURL_HOME DC_ENV_ARGS DEJAGNU FZF_* GNUPLOT_* GS_* \
    INVOKE_* JUST_* LYNX_CFG* NMAPDIR PARALLEL PARALLEL_* PERF_EXEC_PATH PGSERVICEFILE PGSYSCONFDIR MYSQL_HOME \
    PSQLRC RIPGREP_CONFIG_PATH SHELL_ESCAPE* STARSHIP_CONFIG TAPE TAR TAR_OPTIONS TEXINPUTS* TEXMF* VALGRIND_* \
    *WGETRC ZIP ZIPOPT";

/// Settings of clients that name a program for credentials, and their plugins.
const CLOUD: &str = "\
    ANSIBLE_* AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AZURE_CONFIG_DIR AZURE_EXTENSION_DIR BUILDX_* CLOUDSDK_* \
    COMPOSE_* DOCKER_* GOOGLE_EXTERNAL_ACCOUNT_* HELM_* KUBECONFIG KUBECTL_* PACKER_* PULUMI_HOME TF_CLI_* \
    TF_DATA_DIR TF_PLUGIN* VAGRANT_*";

/// Compilers and linkers, and their flags: `-fplugin=`, `-B` and `-fuse-ld=` name code to run. The `cc` crate reads them
/// with the target before or after the name.
const COMPILERS: &str = "\
    *CFLAGS* *CLANG* *CPPFLAGS* *CXXFLAGS* *FFLAGS* *LDFLAGS* *_AR *_AS *_CC *_CXX *_LD AR AR_* AS BINDGEN_* CC \
    CCACHE_* CCC_OVERRIDE_OPTIONS CC_* COLLECT_* COMPILER_PATH CPATH CPLUS_INCLUDE_PATH CPP CROSS_* CXX CXX_* \
    C_INCLUDE_PATH DEVELOPER_DIR DISTCC* DLLTOOL F77 FC GCC_EXEC_PREFIX HOSTAR HOSTAS HOSTCC HOSTCXX HOSTLD ICECC* \
    LD ARFLAGS ASFLAGS COFLAGS GFLAGS LFLAGS NVCCFLAGS PFLAGS RFLAGS YFLAGS LDLIBS LIBRARY_PATH LIBS LLVM_CONFIG* \
    LLVM_DIR LOADLIBES NASM NM OBJCOPY OBJC_INCLUDE_PATH OBJDUMP PKG_CONFIG* PROTOC* RANLIB READELF SCCACHE_* \
    SDKROOT STRIP TOOLCHAINS WINDRES YASM";

/// Build tools: files with rules, options such as `--eval`, and the programs that they start.
const BUILD_TOOLS: &str = "\
    ACLOCAL* AC_CV_* AUTOCONF AUTOHEADER AUTOM4TE AUTOMAKE AUTOPOINT AUTORECONF BAZEL* CMAKE_*COMPILER* \
    CMAKE_*LAUNCHER CMAKE_*PATH CMAKE_GENERATOR* CMAKE_TOOLCHAIN_FILE CONAN_* CONFIG_SITE GYP_* LIBTOOL LIBTOOLIZE \
    M4 M4PATH MAKE GNUMAKEFLAGS MAKEFILES MAKEFLAGS MAKEOBJDIR* MAKEOVERRIDES MAKESHELL MAKESYSPATH MFLAGS NINJA \
    QMAKE* VCPKG* WAFDIR XMAKE_*";

/// Programs that make's own rules, and what autoconf writes, start by these names.
const MAKE_PROGRAMS: &str = "\
    AWK BISON BISON_* CO CTANGLE CWEAVE EGREP FGREP FLEX GET GREP INSTALL INSTALL_* LEX LINT M2C MAKEINFO MKDIR_P PC \
    RM SED TANGLE TEX TEXI2DVI WEAVE YACC";

/// Version managers: where versions and hooks are. The server says where, for those that commands may read.
const VERSION_MANAGERS: &str = "\
    ASDF_* BUN_* CONDA_* DENO_* FNM_* GHCUP_* MISE_* NODENV_* NVM_* N_PREFIX PROTO_* PYENV_* RBENV_* RTX_* SDKMAN_* \
    VOLTA_*";

/// Cargo takes any of its settings from a variable: linkers, runners, wrappers, aliases, credential providers.
const RUST: &str = "\
    CARGO CARGO_*CREDENTIAL* CARGO_*FLAGS CARGO_*LINKER CARGO_*RUNNER CARGO_*RUSTC* CARGO_*RUSTDOC CARGO_ALIAS_* \
    CARGO_HOME CARGO_REGISTRIES_* CARGO_REGISTRY_* CARGO_SOURCE_* CHROMEDRIVER CLIPPY_DRIVER_PATH GECKODRIVER \
    MIRI_SYSROOT PYO3_* RUSTC RUSTC_* RUSTDOC RUSTDOCFLAGS RUSTFLAGS RUSTFMT RUSTUP_*";

/// `-toolexec` and `-exec` in `GOFLAGS`, and programs for the cache and for authentication.
const GO: &str = "GCCGO GOAUTH GOBIN GOCACHEPROG GOENV GOFLAGS GOPATH GOPROXY GOROOT GOTOOL* GOVCS GOWORK";

/// Modules to load first, shells for scripts, programs in place of a package's own, and the package manager that a
/// package manager starts.
const JAVASCRIPT: &str = "\
    *_BINARY_PATH *_EXECUTABLE_PATH BABEL_CACHE_PATH CHROME_BIN CHROME_PATH COREPACK_* CYPRESS_RUN_BINARY ELECTRON_* \
    NODE_COMPILE_CACHE NODE_GYP_* NODE_OPTIONS NODE_PATH NODE_REPL_* NPM_* NYC_* PNPM_* TS_NODE_* YARN_*";

/// Modules to import (`PYTHONWARNINGS` names a class in one), settings that are code, and where packages come from.
const PYTHON: &str = "\
    COVERAGE_PROCESS_START COVERAGE_RCFILE GUNICORN_CMD_ARGS HATCH_* IPYTHONDIR JUPYTER_* MATPLOTLIBRC MPLBACKEND \
    MPLCONFIGDIR NUMBA_CACHE_DIR PDM_* PIPENV_* PIP_*INDEX_URL PIP_*OPTION PIP_CONFIG_* PIP_CONSTRAINT PIP_EDITABLE \
    PIP_FIND_LINKS PIP_KEYRING_PROVIDER PIP_PREFIX PIP_PYTHON PIP_REQUIREMENT PIP_TARGET POETRY_* PYLINTRC \
    PYTEST_ADDOPTS PYTEST_PLUGINS PYTHON PYTHON3 PYTHONBREAKPOINT PYTHONEXECUTABLE PYTHONHOME PYTHONINSPECT \
    PYTHONPATH PYTHONPLATLIBDIR PYTHONPYCACHEPREFIX PYTHONSTARTUP PYTHONUSERBASE PYTHONWARNINGS PYTHON_PRESITE TOX_* \
    UV_*INDEX* UV_CONFIG_FILE UV_FIND_LINKS UV_PYTHON* VIRTUALENV_* VIRTUAL_ENV";

/// Files to require first, and where gems are.
const RUBY: &str = "\
    BOOTSNAP_* BUNDLER_* BUNDLE_* GEMRC GEM_* IRBRC JRUBY_* PRYRC RAKEOPT RAKE_SYSTEM RUBOCOP_OPTS RUBYGEMS_* \
    RUBYLIB* RUBYOPT RUBYPATH RUBYSHELL RUBY_DEBUG_* SPEC_OPTS SPRING_SERVER_COMMAND TESTOPTS";

/// Modules to use first, and options of the tools that install and test them.
const PERL: &str = "HARNESS_* PERL5* PERLDOC* PERLIO* PERLLIB PERL_*";

/// Agents and class paths, and the options of build tools, which are those of the JVM.
const JVM: &str = "\
    *JAVA_OPT* *JVM_ARGS* *JVM_OPT* ANDROID_*HOME ANDROID_NDK* ANDROID_SDK_ROOT ANT_* CATALINA_* CLASSPATH GRADLE_* \
    GROOVY_* JAVA JAVAC JAVACMD JAVA_*OPT* JAVA_HOME JDK_*OPTIONS JRE_HOME JYTHON* KOTLIN_* LEIN_* M2 M2_HOME \
    MAVEN_* MVNW_* ORG_GRADLE_PROJECT_* SBT_* SCALA_HOME";

/// Hooks, profilers, and properties that name files to import into every build.
const DOTNET: &str = "\
    COMPLUS_* CORECLR_* COR_* CSCTOOL* CUSTOMAFTER* CUSTOMBEFORE* DIRECTORYBUILD* DOTNET_ADDITIONAL_DEPS \
    DOTNET_CLI_HOME DOTNET_HOST_PATH DOTNET_MSBUILD_* DOTNET_ROOT* DOTNET_SHARED_STORE DOTNET_STARTUP_HOOKS FSCTOOL* \
    MONO_* MSBUILD* NUGET_* VBCTOOL*";

/// Other languages: what to load first, and where from.
const OTHERS: &str = "\
    CABAL_* CAML* COMPOSER* DUNE_* ELIXIR_* ERL_* FLUTTER_ROOT GHC_* GUILE_* HEX_HOME JULIA_* LUAROCKS_* LUA_* \
    MIX_ARCHIVES MIX_DEPS_PATH MIX_EXS MIX_HOME MIX_PATH MIX_REBAR* NIX_* OCAML* OPAM* PHPRC PHP_BINARY PHP_COMMAND \
    PHP_INI_SCAN_DIR PHP_PEAR_* PUB_* R_ENVIRON* R_HOME R_LIBS* R_PROFILE* STACK_* SWIFT_* TCLLIBPATH TCL_LIBRARY";

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
            "TAR_OPTIONS",
            "TAPE",
            "RSYNC_CONNECT_PROG",
            "SSH_SK_HELPER",
            "SSH_PKCS11_HELPER",
            "LESS",
            "MANOPT",
            "VIMINIT",
            "EXINIT",
            "GNUPGHOME",
            "GH_BROWSER",
            "RM",
            "LEX",
            "YFLAGS",
            "LDLIBS",
            "C_INCLUDE_PATH",
            "COLLECT_LTO_WRAPPER",
            "LIBCLANG_PATH",
            "PROTOC",
            "ac_cv_prog_cc",
            "OPENSSL_CONF",
            "OPENSSL_MODULES",
            "KRB5_CONFIG",
            "GTK_MODULES",
            "ASAN_SYMBOLIZER_PATH",
            "ES_JAVA_OPTS",
            "JAVACMD",
            "ESBUILD_BINARY_PATH",
            "PUPPETEER_EXECUTABLE_PATH",
            "npm_execpath",
            "PYTHON",
            "PYLINTRC",
            "VIRTUAL_ENV",
            "PYENV_HOOK_PATH",
            "RUBYGEMS_GEMDEPS",
            "PERL_MM_OPT",
            "HARNESS_PERL_SWITCHES",
            "PARALLEL",
            "RIPGREP_CONFIG_PATH",
            "FZF_DEFAULT_OPTS",
            "KUBECONFIG",
            "AWS_CONFIG_FILE",
            "PSQLRC",
            "BASH_LOADABLES_PATH",
            "MIX_EXS",
            "shell_escape",
            "ZIPOPT",
        ] {
            assert!(is_refused(&name.to_ascii_uppercase()), "{name}");
        }
    }

    #[test]
    fn variables_that_only_change_what_is_built_or_printed_are_allowed() {
        for name in [
            "FEATURE_FLAGS",
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
            "PGHOST",
            "AWS_REGION",
            "HTTP_PROXY",
            "RAILS_ENV",
            "MIX_ENV",
            "LLVM_PROFILE_FILE",
            "SPRING_PROFILES_ACTIVE",
            "PROJECT_ROOT",
            "TF_VAR_NAME",
            "XDG_CACHE_HOME",
            "LESSON",
            "GETTING_STARTED",
        ] {
            assert!(!is_refused(name), "{name}");
        }
    }

    /// A caller's variables win over those that the server sets.
    #[test]
    fn variables_that_the_server_sets_for_toolchains_are_refused() {
        for name in crate::exec::toolchains::variables() {
            assert!(is_refused(name), "{name}");
        }
    }
}
