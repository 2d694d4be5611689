import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApiDocument, passwordLength } from '@muster/contracts';

const readText = (path: string) => readFileSync(join(process.cwd(), path), 'utf8').replaceAll(/\s+/g, ' ');

describe('the page on access', () => {
  const text = readText('docs/access.md');
  const { paths, components } = openApiDocument as {
    paths: Record<string, Record<string, Record<string, unknown>>>;
    components: { schemas: Record<string, { properties?: Record<string, { minimum?: number; maximum?: number }> }> };
  };
  const properties = Object.values(components.schemas).flatMap((schema) => Object.entries(schema.properties ?? {}));

  it('the page on access states the limits on sign-ins, passwords and sessions that the code applies', () => {
    const failures = /RATE_LIMIT_FAILED_LOGINS_PER_MINUTE=(\d+)/.exec(readText('.env.example'))![1];
    expect(text).toContain(
      `\`RATE_LIMIT_FAILED_LOGINS_PER_MINUTE\` (${failures}) is the number of failed sign-ins a minute`,
    );
    expect(text).toContain(`A password has ${passwordLength.min} to ${passwordLength.max} characters of any kind.`);
    const [, { minimum, maximum }] = properties.find(([name]) => name === 'sessionIdleMinutes')!;
    expect(text).toContain(`${minimum} to ${maximum}) and 12 hours after the sign-in`);
  });

  it('the page on access lists every route that needs no credentials', () => {
    const open = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => operation['x-access'] === 'anyone')
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    );
    const listed = /These routes need neither a session nor a key.*?Besides them/.exec(text)![0];
    expect([...listed.matchAll(/`([A-Z]+ [^`]+)`/g)].map(([, route]) => route).sort()).toEqual(open.sort());
  });

  it('no request or response body of the API has a password hint or a secret question', () => {
    const fields = properties.map(([name]) => name);
    expect(fields).toContain('oldPassword');
    expect(fields.filter((field) => /password_?hint|(secret|security)_?(question|answer)/i.test(field))).toEqual([]);
  });
});

describe('the page on ASVS', () => {
  const counts = {
    ...{
      '6.1': 3,
      '6.2': 12,
      '6.3': 8,
      '6.4': 6,
      '6.5': 8,
      '6.6': 4,
      '6.7': 2,
      '6.8': 4,
      '7.1': 3,
      '7.2': 4,
      '7.3': 2,
    },
    ...{ '7.4': 5, '7.5': 3, '7.6': 2, '8.1': 4, '8.2': 4, '8.3': 3, '8.4': 2, '10.1': 2, '10.2': 3, '10.3': 5 },
    ...{ '10.4': 16, '10.5': 5, '10.6': 2, '10.7': 3 },
  };
  const rows = readFileSync(join(process.cwd(), 'docs/asvs.md'), 'utf8')
    .split('\n')
    .filter((line) => /^\| \d/.test(line))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );

  it('the page on ASVS has each requirement of the chapters 6, 7, 8 and 10 of version 5.0.0 once', () => {
    const expected = Object.entries(counts).flatMap(([section, count]) =>
      Array.from({ length: count }, (_, at) => `${section}.${at + 1}`),
    );
    expect(rows.map(([number]) => number)).toEqual(expected);
  });

  it('each requirement on the page on ASVS is marked as held with a test, or as not applicable or open with a reason', () => {
    for (const [number, level, description, status, reason, tests, ...rest] of rows) {
      expect([number, rest]).toEqual([number, []]);
      expect([number, level]).toEqual([number, expect.stringMatching(/^[123]$/)]);
      expect([number, description!.length > 10, reason!.length > 2]).toEqual([number, true, true]);
      expect([number, status]).toEqual([number, expect.stringMatching(/^(held|not applicable|open)$/)]);
      // tools/lint/named-tests.mjs finds tests that do not exist.
      if (status === 'held') expect([number, tests]).toEqual([number, expect.stringMatching(/\.spec\.ts`: `/)]);
    }
  });
});
