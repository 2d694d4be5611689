#!/usr/bin/env node
// Lints texts as if they stood in the given files of the workspace that this is started in, with the repository's
// configuration: [{ file, text }] on stdin, the messages of each on stdout. For boundaries.spec.ts: jest cannot
// load an ES module configuration itself.
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { ESLint } from 'eslint';

const eslint = new ESLint({ overrideConfigFile: fileURLToPath(new URL('../../eslint.config.mjs', import.meta.url)) });
const answers = [];
for (const { file, text } of JSON.parse(await readText(process.stdin))) {
  const [result] = await eslint.lintText(text, { filePath: file });
  answers.push(result.messages.map(({ ruleId, message, line }) => ({ ruleId, message, line })));
}
process.stdout.write(JSON.stringify(answers));
