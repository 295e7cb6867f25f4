// Shows the OpenAPI document of this server. Everything it shows goes in as text, never as markup.
'use strict';

const METHODS = ['get', 'post', 'delete'];

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** The thing a local reference stands for, as far as it can be followed. */
function resolve(api, value) {
  let here = value;
  for (let hops = 0; here && typeof here.$ref === 'string' && hops < 10; hops += 1) {
    here = here.$ref.split('/').slice(1).reduce((at, step) => (at ? at[step] : undefined), api);
  }
  return here || {};
}

function isOpen(api, operation) {
  const security = operation.security || api.security || [];
  return security.length === 0;
}

function json(value) {
  return element('pre', null, JSON.stringify(value, null, 2));
}

function parameters(api, operation) {
  const all = (operation.parameters || []).map((parameter) => resolve(api, parameter));
  if (all.length === 0) return null;
  const head = element('tr', null, ...['Name', 'In', 'Type', 'What it says'].map((text) => element('th', null, text)));
  const rows = all.map((parameter) => {
    const schema = resolve(api, parameter.schema);
    const name = parameter.required ? `${parameter.name} (required)` : parameter.name;
    const cells = [name, parameter.in, schema.type || '', parameter.description || ''];
    return element('tr', null, ...cells.map((text) => element('td', null, String(text))));
  });
  return element('section', null, element('h3', null, 'Parameters'), element('table', null, head, ...rows));
}

/** The examples of a body, or else its schema. */
function bodies(api, content) {
  return Object.entries(content || {}).flatMap(([kind, media]) => {
    const examples = Object.entries(media.examples || {}).flatMap(([name, example]) => [
      element('p', null, `${kind}: ${resolve(api, example).summary || name}`),
      json(resolve(api, example).value),
    ]);
    if (examples.length > 0) return examples;
    if (media.example !== undefined) return [element('p', null, kind), json(media.example)];
    return media.schema ? [element('p', null, kind), json(resolve(api, media.schema))] : [element('p', null, kind)];
  });
}

function request(api, operation) {
  if (!operation.requestBody) return null;
  const shown = bodies(api, resolve(api, operation.requestBody).content);
  return element('section', null, element('h3', null, 'Request'), ...shown);
}

function responses(api, operation) {
  const shown = Object.entries(operation.responses || {}).flatMap(([status, response]) => {
    const told = resolve(api, response);
    return [element('h3', null, `${status}: ${told.description || ''}`), ...bodies(api, told.content)];
  });
  return element('section', null, ...shown);
}

function operation(api, path, method, told) {
  const summary = element(
    'summary',
    null,
    element('span', { class: `method ${method}` }, method.toUpperCase()),
    element('span', { class: 'path' }, path),
    element('span', { class: 'told' }, told.summary || ''),
    isOpen(api, told) ? element('span', { class: 'open' }, 'no token needed') : null,
  );
  const shown = element('details', { 'data-words': `${method} ${path} ${told.summary || ''}`.toLowerCase() }, summary);
  // What is never opened is never built.
  shown.addEventListener('toggle', () => {
    if (shown.children.length > 1) return;
    const about = told.description ? element('p', null, told.description) : null;
    shown.append(...[about, parameters(api, told), request(api, told), responses(api, told)].filter(Boolean));
  });
  return shown;
}

function render(api) {
  document.getElementById('title').textContent = `${api.info.title} ${api.info.version}`;
  document.getElementById('about').textContent = api.info.description || '';
  const groups = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const tag = (item[method].tags || ['other'])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(operation(api, path, method, item[method]));
    }
  }
  const order = (api.tags || []).map((tag) => tag.name);
  const sorted = [...groups].sort(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  const told = new Map((api.tags || []).map((tag) => [tag.name, tag.description]));
  const sections = sorted.map(([tag, shown]) =>
    element('section', null, element('h2', null, tag), element('p', null, told.get(tag) || ''), ...shown));
  document.getElementById('routes').replaceChildren(...sections);
}

function find(event) {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const shown of document.querySelectorAll('details')) {
    shown.hidden = !words.every((word) => shown.dataset.words.includes(word));
  }
}

async function start() {
  document.getElementById('find').addEventListener('input', find);
  try {
    const response = await fetch('openapi.json');
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    render(await response.json());
  } catch (error) {
    const text = `The description of the API could not be read: ${error.message}.`;
    document.getElementById('routes').replaceChildren(element('p', null, text));
  }
}

start();
