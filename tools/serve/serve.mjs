#!/usr/bin/env node
// `nx serve <app>`: runs one app, and rebuilds and restarts it after every change. Compiles tools/serve first.
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { build } from '../build/build.mjs';

const root = resolve(import.meta.dirname, '../..');
await build(['tools/serve']);
const { main } = createRequire(import.meta.url)(join(root, 'dist/tools/serve/src/main.js'));
await main(process.argv.slice(2), root);
