import js from '@eslint/js';
import nx from '@nx/eslint-plugin';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';
import { foreignWrites } from './tools/lint/foreign-writes.mjs';
import { aboutWords, plainWords, unclearNames } from './tools/lint/plain-words.mjs';
import { oneClock, serviceClock } from './tools/lint/one-clock.mjs';
import { appIndexes, buildBoundaryRule } from './tools/lint/layout.mjs';
import { prepareProjectGraph } from './tools/lint/project-graph.mjs';
import { listShunnedSyntax } from './tools/lint/shunned.mjs';

await prepareProjectGraph();

// Tools have no index file. They are scripts that import each other's files directly.
const siblingTools = ['^(\\.\\./)+(?!apps/|libs/)[a-z]'];
const toolsFromAnApp = ['^(\\.\\./)+tools/'];
const specs = '**/*.{spec,harness}.{ts,tsx}';
const inTypeScript = (config) => ({ ...config, files: ['**/*.{ts,tsx}'] });

// The smallest set of rules that protects the architecture and finds errors that types do not find.
export default [
  { ignores: ['dist', 'node_modules', '.nx', '.muster', 'tools/lint/fixtures', 'libs/sdk/src/generated'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  { files: ['**/*.{mjs,cjs,js}'], rules: { 'no-undef': 'off' } },
  ...tseslint.configs.recommended.map(inTypeScript),
  {
    files: ['**/*.{ts,tsx}'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': [
        'error',
        { checksVoidReturn: { arguments: false, attributes: false } },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // `!` marks a value that is known to be defined. noUncheckedIndexedAccess makes the mark necessary.
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['**/*.{ts,tsx,js,mjs,cjs}'],
    plugins: { '@nx': nx },
    rules: {
      eqeqeq: 'error',
      '@nx/enforce-module-boundaries': ['error', buildBoundaryRule()],
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: [
                '@muster/*/*',
                '!@muster/contracts/words',
                '!@muster/contracts/secrets',
                '!@muster/contracts/text-diff',
                '!@muster/contracts/zip',
                '!@muster/sdk/operations',
              ],
              message: 'Import what the index of the project exports.',
            },
          ],
        },
      ],
      'no-restricted-syntax': listShunnedSyntax('environment', 'exports', 'aliases'),
    },
  },
  { files: ['{apps,libs}/**'], rules: { 'no-console': 'error' } },
  {
    files: ['apps/*/src/**'],
    rules: { 'no-restricted-syntax': listShunnedSyntax('environment', 'exports', 'aliases', 'sql', 'raw') },
  },
  {
    files: ['apps/console/**'],
    plugins: { 'react-hooks': reactHooks },
    rules: { 'react-hooks/rules-of-hooks': 'error', 'react-hooks/exhaustive-deps': 'error' },
  },
  {
    // Event streams, and responses that are not JSON, are written directly to the reply.
    files: [
      'apps/gateway/src/{agents/timeline,jobs/{jobs-export,screens},organization/{events,access-log},assistant/{chat,autopilot-events},admin/feedback-export,docs/docs}.controller.ts',
      'apps/ingest/src/jobs/run-screens.controller.ts',
    ],
    rules: { 'no-restricted-syntax': listShunnedSyntax('environment', 'exports', 'aliases', 'sql') },
  },
  {
    files: ['{apps,libs}/*/src/**/*.ts'],
    ignores: [specs, 'apps/{e2e,worker}/**', 'libs/testing/**', 'libs/database/src/migrations/**'],
    plugins: {
      muster: { rules: { 'foreign-writes': foreignWrites, 'one-clock': oneClock, 'service-clock': serviceClock } },
    },
    rules: { 'muster/foreign-writes': 'error', 'muster/one-clock': 'error' },
  },
  {
    // The files that are ignored here read the clock themselves, call machines and other services, or run outside of
    // the service.
    files: ['libs/*/src/**/*.ts', 'apps/{gateway,ingest,dispatcher,scheduler,metering,feedback-sync}/src/**/*.ts'],
    ignores: [
      ...[specs, '**/testing/**', 'libs/{platform,vm,models,trackers,sdk,testing}/**'],
      ...['libs/database/src/{migrate-database.ts,migrations/**}'],
    ],
    rules: { 'muster/service-clock': 'error' },
  },
  {
    files: ['**/*.{ts,tsx,mjs,cjs}'],
    ignores: aboutWords,
    plugins: { plain: { rules: { words: plainWords } } },
    rules: { 'plain/words': 'error', 'id-denylist': ['error', ...unclearNames] },
  },
  {
    files: ['apps/standalone/**'],
    rules: { '@nx/enforce-module-boundaries': ['error', buildBoundaryRule({ allow: appIndexes })] },
  },
  {
    // The console's page shows this file of the repository, which operators read.
    files: ['apps/console/src/pages/safeguards/index.tsx'],
    rules: {
      '@nx/enforce-module-boundaries': ['error', buildBoundaryRule({ allow: ['^(\\.\\./)+k8s/safeguards\\.md'] })],
    },
  },
  {
    files: ['tools/**'],
    rules: { '@nx/enforce-module-boundaries': ['error', buildBoundaryRule({ allow: siblingTools })] },
  },
  {
    // This file generates the SDK's client, so it runs before the index of the SDK can be imported.
    files: ['tools/build/build.mjs'],
    rules: { '@nx/enforce-module-boundaries': ['error', buildBoundaryRule({ allow: ['/libs/sdk/generate\\.mjs$'] })] },
  },
  {
    files: ['tools/{test,bench}/**', 'tools/**/*.{spec,harness}.ts'],
    rules: { '@nx/enforce-module-boundaries': ['error', buildBoundaryRule({ tests: true, allow: siblingTools })] },
  },
  {
    // These tests compare the chart with the environment variables that the apps read.
    files: ['tools/deploy/**'],
    rules: {
      '@nx/enforce-module-boundaries': ['error', buildBoundaryRule({ allow: [...siblingTools, ...appIndexes] })],
    },
  },
  {
    files: ['{apps,libs}/**/*.{spec,harness}.{ts,tsx}'],
    rules: { '@nx/enforce-module-boundaries': ['error', buildBoundaryRule({ tests: true })] },
  },
  {
    files: ['apps/e2e/**'],
    rules: { '@nx/enforce-module-boundaries': ['error', buildBoundaryRule({ tests: true, allow: toolsFromAnApp })] },
  },
  {
    files: ['apps/standalone/**/*.spec.ts'],
    rules: { '@nx/enforce-module-boundaries': ['error', buildBoundaryRule({ tests: true, allow: appIndexes })] },
  },
  {
    files: [specs, 'libs/testing/**', 'libs/platform/src/config/env.ts'],
    rules: { 'no-restricted-syntax': listShunnedSyntax('exports', 'aliases') },
  },
  // These files query pg directly, whose rows have the column names of the statement.
  { files: ['apps/e2e/**', 'tools/**'], rules: { 'no-restricted-syntax': listShunnedSyntax('exports') } },
  { files: [specs, 'apps/e2e/**', 'libs/testing/**'], rules: { '@typescript-eslint/no-explicit-any': 'off' } },
  {
    files: ['*.config.{js,mjs,cjs,ts}', '**/vite.config.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
];
