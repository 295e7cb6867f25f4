//! The templates that come with the program: nine directories of the format that users write, compiled in.

use std::sync::{Arc, LazyLock};

use super::template::Template;

/// The manifest and the text of one directory of `builtin/`.
macro_rules! source {
    ($directory:literal) => {
        (
            include_str!(concat!("builtin/", $directory, "/manifest.json")),
            include_str!(concat!("builtin/", $directory, "/template.j2")),
        )
    };
}

const SOURCES: [(&str, &str); 9] = [
    source!("gitignore-deno"),
    source!("gitignore-python-uv"),
    source!("gitignore-rust"),
    source!("makefile-deno"),
    source!("makefile-python-uv"),
    source!("makefile-rust"),
    source!("readme-deno"),
    source!("readme-python-uv"),
    source!("readme-rust"),
];

/// Loaded when a template is first asked for: a server that is never asked does not pay for it when it starts.
static LOADED: LazyLock<Vec<Arc<Template>>> = LazyLock::new(|| {
    // A test loads each of them, so none is left out here.
    SOURCES.iter().filter_map(|(manifest, text)| Template::load(manifest, text).ok().map(Arc::new)).collect()
});

/// All of them, sorted by URI.
pub(super) fn all() -> &'static [Arc<Template>] {
    &LOADED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_loads_and_they_are_sorted() {
        for (manifest, text) in SOURCES {
            assert_eq!(Template::load(manifest, text).err(), None, "{manifest}");
        }
        let uris: Vec<String> = all().iter().map(|template| template.uri.to_string()).collect();
        let expected = ["gitignore", "makefile", "readme"].map(|category| {
            ["deno", "python-uv", "rust"].map(|toolchain| format!("template://{category}/{toolchain}/cli"))
        });
        assert_eq!(uris, expected.concat());
    }
}
