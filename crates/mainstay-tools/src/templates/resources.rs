//! Templates as resources: `template://CATEGORY/TOOLCHAIN/VARIANT`, whose content is the text of the template.

use std::collections::BTreeMap;

use mainstay_core::{
    Body, BoxFuture, CancellationToken, Contents, Context, ResourceInfo, ResourceProvider, ResourceTemplate, Result,
};

use super::builtin;
use super::catalogue::Catalogue;
use super::template::Template;
use super::uri::SCHEME;

const TEMPLATE: &str = "template://{category}/{toolchain}/{variant}";

/// Lists and reads all templates.
pub(super) struct TemplateResources(pub(super) Catalogue);

fn info(template: &Template) -> ResourceInfo {
    let manifest = &template.manifest;
    ResourceInfo {
        uri: template.uri.to_string(),
        name: manifest.name.clone(),
        description: Some(manifest.description.clone()),
        mime: Some(manifest.mime.clone()),
        ..ResourceInfo::default()
    }
}

impl ResourceProvider for TemplateResources {
    /// Ours alone: those of users are on disk.
    fn list(&self) -> Vec<ResourceInfo> {
        builtin::all().iter().map(|template| info(template)).collect()
    }

    fn list_fresh(&self) -> BoxFuture<'_, Vec<ResourceInfo>> {
        Box::pin(async move {
            match self.0.templates(&CancellationToken::new()).await {
                Ok(templates) => templates.all.iter().map(|template| info(template)).collect(),
                Err(_) => self.list(),
            }
        })
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri: TEMPLATE.into(),
            name: "Project Template".into(),
            description: Some("The text of a template for a file of a new project".into()),
            ..ResourceTemplate::default()
        }]
    }

    fn owns(&self, uri: &str) -> bool {
        uri.starts_with(SCHEME)
    }

    fn read<'a>(&'a self, uri: &'a str, context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>> {
        Box::pin(async move {
            let template = self.0.find(uri, &context.cancel).await?;
            let (mime, text) = (template.manifest.mime.clone(), template.text.clone());
            Ok(vec![Contents { uri: uri.to_owned(), mime: Some(mime), body: Body::Text(text) }])
        })
    }

    /// Values that lead to a template, with the variables that have one already.
    fn complete<'a>(
        &'a self,
        template: &'a str,
        variable: &'a str,
        typed: &'a str,
        others: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            if template != TEMPLATE {
                return Vec::new();
            }
            let Ok(templates) = self.0.templates(&CancellationToken::new()).await else { return Vec::new() };
            let parts = |template: &Template| {
                let uri = template.uri.clone();
                BTreeMap::from([("category", uri.category), ("toolchain", uri.toolchain), ("variant", uri.variant)])
            };
            let fits = |parts: &BTreeMap<&str, String>| {
                others.iter().all(|(name, value)| parts.get(name.as_str()).is_none_or(|part| part == value))
            };
            let all = templates.all.iter().map(|template| parts(template)).filter(fits);
            let mut values: Vec<String> = all.filter_map(|mut parts| parts.remove(variable)).collect();
            values.retain(|value| value.starts_with(typed));
            values.sort();
            values.dedup();
            values
        })
    }
}
