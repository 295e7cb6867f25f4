//! What is hidden where there are more protected names than a command can have mounts.

use super::*;
use crate::exec::linux::mounts::MaskKind;

fn with_room_for(hidden_names: usize) -> ExecSettings {
    ExecSettings { hidden_names, ..Default::default() }
}

/// Creates a protected file in each of many directories.
fn flood(directory: &Path, count: usize) {
    for number in 0..count {
        std::fs::create_dir_all(directory.join(number.to_string())).unwrap();
        std::fs::write(directory.join(number.to_string()).join(".env"), "s").unwrap();
    }
}

#[test]
fn the_most_crowded_directory_is_hidden_and_all_others_can_be_used() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        flood(&directory.path().join("c/crowd"), 20);
        let mut scan = scan_of(&workspace, &with_room_for(6));
        for _ in 0..2 {
            // Besides the masks, one mount each keeps `a` and `a/b` in place.
            assert_eq!(
                found(&mut scan, &workspace),
                [".env", "a/b/.git", "a/server.key", "c/crowd"].map(PathBuf::from)
            );
        }
        std::fs::remove_dir_all(directory.path().join("c/crowd")).unwrap();
        assert_eq!(found(&mut scan, &workspace), [".env", "a/b/.git", "a/server.key"].map(PathBuf::from));
    }
}

#[test]
fn several_directories_are_hidden_if_one_is_not_enough() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        for crowd in ["x", "y"] {
            flood(&directory.path().join(crowd), 10);
        }
        let found = found(&mut scan_of(&workspace, &with_room_for(9)), &workspace);
        assert_eq!(found, [".env", "a/b/.git", "a/server.key", "x", "y"].map(PathBuf::from));
    }
}

/// Another command could move it out of the directory that is hidden.
#[test]
fn what_was_hidden_before_is_hidden_by_itself_in_a_crowded_directory_too() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let mut scan = scan_of(&workspace, &with_room_for(8));
        let first = found(&mut scan, &workspace);
        flood(&directory.path().join("a"), 20);
        let mut all = [first, vec!["a".into()]].concat();
        all.sort();
        assert_eq!(found(&mut scan, &workspace), all);
        let masks = scan.masks().unwrap();
        let inner = masks.iter().position(|mask| mask.path().ends_with("a/server.key")).unwrap();
        let outer = masks.iter().position(|mask| mask.kind == MaskKind::Crowded).unwrap();
        assert!(inner < outer, "what is inside has no path after what is above");
    }
}

#[test]
fn names_that_come_little_by_little_do_not_use_up_the_room() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let mut scan = scan_of(&workspace, &with_room_for(12));
        for count in 1..30 {
            flood(&directory.path().join("crowd"), count);
            scan.masks().unwrap();
        }
        assert!(found(&mut scan, &workspace).contains(&"crowd".into()));
    }
}

#[test]
fn directories_that_have_to_stay_in_place_count() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        for number in 0..4 {
            let deep =
                (0..30).fold(directory.path().join("deep"), |path, level| path.join(format!("{level}-{number}")));
            std::fs::create_dir_all(deep.join(".git")).unwrap();
        }
        let masks = scan_of(&workspace, &with_room_for(20)).masks().unwrap();
        let crowded: Vec<&Mask> = masks.iter().filter(|mask| mask.kind == MaskKind::Crowded).collect();
        assert!(!crowded.is_empty() && crowded.iter().all(|mask| mask.keeps_place), "{crowded:?}");
        let hides = |path: &Path| masks.iter().any(|mask| path.starts_with(mask.path()));
        let base = directory.path().canonicalize().unwrap();
        assert!((0..4).all(|number| hides(&base.join("deep").join(format!("0-{number}/1-{number}")))));
    }
}

#[test]
fn roots_are_never_hidden_and_the_refusal_names_what_is_crowded() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        flood(directory.path(), 20);
        let refused = scan_of(&workspace, &with_room_for(10)).masks().unwrap_err();
        let base = directory.path().canonicalize().unwrap();
        let told = ["exec.hidden_names (10)", "23 of them", base.to_str().unwrap()];
        assert!(told.iter().all(|text| refused.public.contains(text)), "{}", refused.public);
        // Nor what contains one.
        let inner = directory.path().join("outer/inner");
        std::fs::create_dir_all(&inner).unwrap();
        flood(&directory.path().join("outer"), 30);
        let root = crate::settings::RootSettings { path: inner, read_only: false };
        let files = FilesSettings { roots: vec![root], ..FilesSettings::default() };
        let workspace = Workspace::open(directory.path(), &files).unwrap();
        let refused = scan_of(&workspace, &with_room_for(20)).masks().unwrap_err();
        assert!(refused.public.contains("exec.hidden_names"), "{}", refused.public);
    }
}

#[test]
fn nothing_takes_the_place_of_repositories_and_protected_directories() {
    let (_directory, workspace) = tree();
    let scan = scan_of(&workspace, &ExecSettings::default());
    for (name, directory, keeps_place) in [
        (".git", true, true),
        (".git", false, true),
        (".ssh", true, true),
        (".env", false, false),
        ("src", true, false),
    ] {
        assert_eq!(scan.search.names.keeps_place(OsStr::new(name), directory), keeps_place, "{name}");
    }
}
