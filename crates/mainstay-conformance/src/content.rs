//! One fixture for each kind of content a reply can hold.

use mainstay_core::{Block, Body, Contents, Context, Reply, Result, Spec, Tool};

use crate::{NoArgs, fixture};

/// One red pixel.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\
    \0\0\0\x0cIDATx\xdac\xf8\xcf\xc0\0\0\x03\x01\x01\0\xf7\x03AC\0\0\0\0IEND\xaeB`\x82";

/// One millisecond of silence: eight samples at 8 kHz.
const WAV: &[u8] = b"RIFF,\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0@\x1f\0\0\x01\0\x08\0\
    data\x08\0\0\0\x80\x80\x80\x80\x80\x80\x80\x80";

pub(crate) struct SimpleText;

impl Tool for SimpleText {
    const SPEC: Spec = fixture("simple_text", "Returns one block of text.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::text("This is a simple text response for testing."))
    }
}

pub(crate) struct ImageContent;

impl Tool for ImageContent {
    const SPEC: Spec = fixture("image_content", "Returns an image of one red pixel.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::blocks(vec![Block::image(PNG.to_vec(), "image/png")]))
    }
}

pub(crate) struct AudioContent;

impl Tool for AudioContent {
    const SPEC: Spec = fixture("audio_content", "Returns a millisecond of silence.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::blocks(vec![Block::audio(WAV.to_vec(), "audio/wav")]))
    }
}

pub(crate) struct EmbeddedResource;

impl Tool for EmbeddedResource {
    const SPEC: Spec = fixture("embedded_resource", "Returns a resource carried whole.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::blocks(vec![embedded(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]))
    }
}

pub(crate) struct MultipleContentTypes;

impl Tool for MultipleContentTypes {
    const SPEC: Spec = fixture("multiple_content_types", "Returns text, an image and a resource together.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::blocks(vec![
            Block::text("Multiple content types test:"),
            Block::image(PNG.to_vec(), "image/png"),
            embedded("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ]))
    }
}

pub(crate) struct ErrorHandling;

impl Tool for ErrorHandling {
    const SPEC: Spec = fixture("error_handling", "Runs, and says itself that it failed.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::failure("This tool intentionally returns an error for testing"))
    }
}

pub(crate) fn embedded(uri: &str, mime: &str, text: &str) -> Block {
    Block::resource(Contents { uri: uri.to_owned(), mime: Some(mime.to_owned()), body: Body::Text(text.to_owned()) })
}
