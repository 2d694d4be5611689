#!/usr/bin/env node
// Holds libs/contracts/openapi.json against the OpenAPI 3.1 rules.
import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';

const file = new URL('../../libs/contracts/openapi.json', import.meta.url);
// Probes answer 200 or 503 and nothing between.
const config = await createConfig({ extends: ['recommended'], rules: { 'operation-4xx-response': 'off' } });
const problems = await lintFromString({ source: readFileSync(file, 'utf8'), config });
for (const { ruleId, message, location } of problems)
  console.log(`${ruleId}: ${message} ${location[0]?.pointer ?? ''}`);
console.log(`openapi: ${problems.length} problems`);
process.exit(problems.length ? 1 : 0);
