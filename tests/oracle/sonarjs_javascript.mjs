// Cognitive complexity by eslint-plugin-sonarjs, for the JavaScript files whose names come on standard input.
//
//   node sonarjs_javascript.mjs DIRECTORY_WITH_NODE_MODULES < files
//
// Prints a JSON list of [file, name, first line, last line, figure, first byte]. The plugin reports functions above a
// threshold; its rule is run with a threshold below zero, so that it reports every function.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const require = createRequire(path.join(process.argv[2], 'package.json'));
const { Linter } = require('eslint');
const rule = require('eslint-plugin-sonarjs').rules['cognitive-complexity'];

const rows = [];
let file, byteOf;

// A method's function begins at its parameters; the method itself begins before its name.
const owner = (node) => {
  const { parent } = node;
  const isMethod = parent.type === 'MethodDefinition' || (parent.type === 'Property' && (parent.method || parent.kind !== 'init'));
  return isMethod ? parent : node;
};

const everyFunction = {
  meta: { ...rule.meta, schema: false },
  create(context) {
    let current;
    const report = ({ data }) => {
      const { loc, range, key } = owner(current);
      const name = current.id?.name ?? key?.name ?? '';
      rows.push([file, name, loc.start.line, loc.end.line, data.complexityAmount, byteOf(range[0])]);
    };
    const handlers = rule.create(Object.create(context, { options: { value: [-1] }, report: { value: report } }));
    const leave = handlers[':function:exit'];
    return { ...handlers, ':function:exit'(node) { current = node; leave(node); } };
  },
};

// ESLint counts UTF-16 units, we count bytes.
const bytes = (text) => {
  const offsets = new Uint32Array(text.length + 1);
  let offset = 0;
  for (let unit = 0; unit < text.length; unit++) {
    offsets[unit] = offset;
    const code = text.charCodeAt(unit);
    // Two halves of a pair are four bytes together.
    offset += code < 0x80 ? 1 : code < 0x800 ? 2 : code >= 0xd800 && code < 0xe000 ? 2 : 3;
  }
  return (unit) => offsets[unit];
};

const linter = new Linter();
const verify = (text, sourceType) => linter.verify(text, [{
  languageOptions: { ecmaVersion: 'latest', sourceType, parserOptions: { ecmaFeatures: { jsx: true } } },
  linterOptions: { noInlineConfig: true },
  plugins: { own: { rules: { everyFunction } } },
  rules: { 'own/everyFunction': 'error' },
}], { filename: 'source.js' });

for (file of fs.readFileSync(0, 'utf8').trim().split('\n')) {
  const text = fs.readFileSync(file, 'utf8');
  byteOf = bytes(text);
  const before = rows.length;
  for (const sourceType of ['module', 'commonjs', 'script']) {
    const fatal = verify(text, sourceType).find((message) => message.fatal);
    if (!fatal) break;
    rows.length = before;
    if (sourceType === 'script') console.error(`${file} is not parsed: ${fatal.message}`);
  }
}
process.stdout.write(JSON.stringify(rows));
