#!/usr/bin/env node
// Validates libs/contracts/openapi.json against the rules of OpenAPI 3.1.
import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';

const file = new URL('../../libs/contracts/openapi.json', import.meta.url);
// Health probes respond only with 200 or 503, so 4xx responses are not required.
const config = await createConfig({ extends: ['recommended'], rules: { 'operation-4xx-response': 'off' } });
const problems = await lintFromString({ source: readFileSync(file, 'utf8'), config });
for (const { ruleId, message, location } of problems)
  console.log(`${ruleId}: ${message} ${location[0]?.pointer ?? ''}`);
console.log(`openapi: ${problems.length} problems`);
process.exit(problems.length ? 1 : 0);
