#!/usr/bin/env node
// Checks that no code linter covers: the lockfile, paths of a developer's machine, sizes of files, READMEs, tests that
// pages name, project tags, owners of tables, words, locking migrations, circles of files.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findImportCircles } from './circles.mjs';
import { layout } from './layout.mjs';
import { listUnverifiedPackages } from './lockfile.mjs';
import { findMissingTests } from './named-tests.mjs';
import { exempt, findLockingStatements } from './online-migrations.mjs';
import { findUnclearLines } from './plain-words.mjs';
import { checkOwners } from './table-owners.mjs';
import { findWordFaults } from './words.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const maxLines = 350;
// The header of a long test file does not count.
const longHeaderLines = 2;
// The index of a lib: one exported name per line.
const index = /^libs\/\w+\/src\/index\.ts$/;
const maxReadmeLines = 15;
const maxFilesInFolder = 15;
// Folders that are lists: each file in them is independent of the others.
const listFolders = /\/(migrations|entities|fixtures)$|^tools\/bench$/;
// Folders of developers' clones. Paths of the users in container images are allowed.
const machinePath = /(^|[^\w.-])\/((home|Users)\/(?!node\/|muster\/)|root\/(?!\.)|work\/|farm\/)/;

const began = Date.now();
const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  .toString()
  .split('\0')
  .filter((file) => file && existsSync(join(root, file)) && statSync(join(root, file)).isFile());
const faults = [
  ...files.flatMap(checkFile),
  ...findCrowdedFolders(files),
  ...listProjects(files).flatMap(checkProject),
  ...checkOwners(files),
  ...findImportCircles(files, readText),
  ...[...exempt]
    .filter((name) => !files.includes(`libs/database/src/migrations/${name}.ts`))
    .map((name) => `tools/lint/online-migrations.mjs: exempts ${name}, which does not exist`),
];

for (const fault of faults) console.error(`repository: ${fault}`);
console.log(`repository: ${files.length} files, ${faults.length} faults, ${Date.now() - began} ms`);
process.exitCode = faults.length ? 1 : 0;

function readText(file) {
  return readFileSync(join(root, file), 'utf8');
}

function checkFile(file) {
  const text = readText(file);
  if (text.includes('\0')) return [];
  const lines = text.split('\n');
  const countedLines = lines.length - 1 - (file.endsWith('.long.spec.ts') ? longHeaderLines : 0);
  const findFaultLines = (pattern, fault) =>
    lines.flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${fault}`] : []));
  return [
    ...(basename(file) === 'package-lock.json'
      ? findFaultLines(/"resolved":/, 'contains a download address (see .npmrc)')
      : []),
    ...(basename(file) === 'package-lock.json'
      ? listUnverifiedPackages(JSON.parse(text)).map((name) => `${file}: ${name} has no integrity`)
      : []),
    ...findFaultLines(machinePath, 'contains a path of one machine'),
    ...findFaultLines(/\/\/registry\.|\bregistry\.npmjs\b/, 'contains the address of a package registry'),
    ...findWordFaults(file, text),
    ...findUnclearLines(file, text),
    ...findLockingStatements(file, text),
    ...(file.endsWith('.md') ? findMissingPaths(file, text) : []),
    ...(file.endsWith('.md') ? findMissingTests(file, text, files, readText) : []),
    ...(file.endsWith('.long.spec.ts') ? findLongSpecFaults(file, lines) : []),
    ...(isSourceFile(file) && !index.test(file) && countedLines > maxLines
      ? [`${file}: ${countedLines} lines; split files with more than ${maxLines}`]
      : []),
  ];
}

/** A long test file states why it is long, and names the file of the short suite that tests the same behavior. */
function findLongSpecFaults(file, [reasonLine, coveringLine]) {
  const covering = /^\/\/ A short test of the same code: (\S+)$/.exec(coveringLine)?.[1];
  if (!/^\/\/ This test is long because it ./.test(reasonLine) || !covering)
    return [
      `${file}: must begin with "// This test is long because it <reason>." and "// A short test of the same code: <file>"`,
    ];
  return files.includes(covering) && !covering.endsWith('.long.spec.ts')
    ? []
    : [`${file}: names ${covering}, which is not a file of the short suite`];
}

function findCrowdedFolders(all) {
  const counts = {};
  for (const file of all.filter(isCountedFile)) counts[dirname(file)] = (counts[dirname(file)] ?? 0) + 1;
  return Object.entries(counts)
    .filter(([folder, count]) => count > maxFilesInFolder && !listFolders.test(folder))
    .map(
      ([folder, length]) =>
        `${folder}: ${length} files besides specs; split folders with more than ${maxFilesInFolder}`,
    );
}

function isCountedFile(file) {
  return isSourceFile(file) && /\.tsx?$/.test(file) && !/\.spec\.tsx?$/.test(file) && !file.endsWith('index.ts');
}

/** Reports source paths in a text that do not exist. */
function findMissingPaths(file, text) {
  const named = [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/src\/[\w./-]+\.(?:ts|mjs|py))`/g)].map(([, path]) => path);
  return [...new Set(named)]
    .filter((path) => !files.some((known) => known === path || known.endsWith(`/${path}`)))
    .map((path) => `${file}: names ${path}, which does not exist`);
}

function checkProject(folder) {
  const faults = [];
  const readme = join(folder, 'README.md');
  if (!folder.startsWith('tools/')) {
    const text = files.includes(readme) ? readFileSync(join(root, readme), 'utf8').trimEnd() : '';
    // Rows of tables do not count.
    const length = text && text.split('\n').filter((line) => !line.startsWith('|')).length;
    if (!length) faults.push(`${folder}: has no README.md (purpose, what it owns, what it imports)`);
    if (length > maxReadmeLines) faults.push(`${readme}: ${length} lines; at most ${maxReadmeLines}`);
  }
  if (!files.includes(join(folder, 'project.json'))) return [...faults, `${folder}: has no project.json`];
  const { name, tags } = JSON.parse(readFileSync(join(root, folder, 'project.json'), 'utf8'));
  const tag = folder.startsWith('tools/') ? 'tool' : layout[folder];
  if (name !== basename(folder)) faults.push(`${folder}/project.json: its name must be ${basename(folder)}`);
  if (!tag) faults.push(`${folder}: is not in the layout (tools/lint/layout.mjs)`);
  else if (tags?.join() !== tag) faults.push(`${folder}/project.json: its one tag must be "${tag}"`);
  return faults;
}

function listProjects(files) {
  const folders = files.flatMap((file) => file.match(/^(apps|libs|tools)\/[^/]+(?=\/)/)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

function isSourceFile(file) {
  if (file.startsWith('libs/sdk/src/generated/')) return false;
  return /^(apps|libs)\/.*\.(tsx?|[cm]?js|sql|py|css)$/.test(file);
}
