#!/usr/bin/env node
// Validates libs/contracts/openapi.json against the rules of OpenAPI 3.1.
import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';

const file = new URL('../../libs/contracts/openapi.json', import.meta.url);
const source = readFileSync(file, 'utf8');
// Health probes respond only with 200 or 503, so 4xx responses are not required. The rule about 2xx responses does not
// know navigations of a browser, which respond with a redirect; they are checked below.
const rules = { 'operation-4xx-response': 'off', 'operation-2xx-response': 'off' };
const config = await createConfig({ extends: ['recommended'], rules });
const problems = await lintFromString({ source, config });
for (const [path, methods] of Object.entries(JSON.parse(source).paths)) {
  for (const [method, { responses }] of Object.entries(methods)) {
    if (!responses || Object.keys(responses).some((status) => /^2|^302$/.test(status))) continue;
    problems.push({ ruleId: 'success', message: `${method} ${path} has no 2xx and no 302 response`, location: [] });
  }
}
for (const { ruleId, message, location } of problems)
  console.log(`${ruleId}: ${message} ${location[0]?.pointer ?? ''}`);
console.log(`openapi: ${problems.length} problems`);
process.exit(problems.length ? 1 : 0);
