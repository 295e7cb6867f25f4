//! Enums whose variants are words in logs, audit rows, metrics and contracts.

/// Declares an enum together with its words. Variant, word and list come from one place, so that a new variant can be
/// neither without a word nor missing from `ALL`, on which the tests of the dialects' error tables rely.
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// Every variant, in the order of declaration.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word that stands for it. Stored rows and clients depend on it, so it never changes.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}
