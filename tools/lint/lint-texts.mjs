#!/usr/bin/env node
// Lints texts as if they were the contents of the given files in the current workspace, with the repository's
// configuration. Reads [{ file, text }] from stdin and writes the messages of each file to stdout. Used by
// boundaries.long.spec.ts, because Jest cannot load an ES module configuration.
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ESLint } from 'eslint';

const eslint = new ESLint({ overrideConfigFile: fileURLToPath(new URL('../../eslint.config.mjs', import.meta.url)) });
const messages = [];
for (const { file, text } of JSON.parse(await readText(process.stdin))) {
  const [result] = await eslint.lintText(text, { filePath: file });
  messages.push(result.messages.map(({ ruleId, message, line }) => ({ ruleId, message, line })));
}
process.stdout.write(JSON.stringify(messages));
