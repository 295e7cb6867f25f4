//! Enums whose variants have a fixed string form in logs, audit rows, metrics and contracts.

/// Declares an enum together with its strings. Variant, string and list come from one place, so that a new variant can be
/// neither without a string nor missing from `ALL`, on which the tests of the dialects' error tables rely.
#[macro_export]
macro_rules! string_enum {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// Every variant, in the order of declaration.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The string form. Stored rows and clients depend on it, so it never changes.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}
