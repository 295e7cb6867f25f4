//! The file tools on a temporary workspace, for tests.

use mainstay_core::Error;
use mainstay_sandbox::FilesSettings;

use crate::files::file_tools::FileTools;
pub(crate) use crate::testing::SampleWorkspace;

impl SampleWorkspace {
    pub(crate) fn tools(&self) -> FileTools {
        self.tools_reading(FilesSettings::default().read_bytes)
    }

    pub(crate) fn tools_reading(&self, read_bytes: u64) -> FileTools {
        FileTools { read_bytes, ..FileTools::new(self.workspace(), &FilesSettings::default()) }
    }
}

/// The argument that an error is about.
pub(crate) fn field(error: &Error) -> String {
    error.field_name().unwrap().to_owned()
}
