import { execFileSync } from 'node:child_process';
import { openApiDocument } from '@muster/contracts';
import { startHarness } from '@muster/testing';
import { buildOpenApiDocument } from './openapi';
import { standalone } from './standalone';

interface Operation {
  parameters?: { in: string; name: string }[];
}

describe('the OpenAPI document', () => {
  it('the OpenAPI document matches the code; npm run generate updates it', async () => {
    const harness = await startHarness(standalone);
    try {
      expect(buildOpenApiDocument(harness.app.nest)).toEqual(openApiDocument);
      const served = await harness.http.get('/api/openapi.json');
      expect(served.body).toEqual(openApiDocument);
    } finally {
      await harness.close();
    }
  });

  it('the OpenAPI document lists each parameter of a route once, comparing headers without case', () => {
    const twice: string[] = [];
    const { paths } = openApiDocument as { paths: Record<string, Record<string, Operation>> };
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { parameters = [] }] of Object.entries(methods)) {
        const names = parameters.map(
          ({ in: location, name }) => `${location} ${location === 'header' ? name.toLowerCase() : name}`,
        );
        if (new Set(names).size < names.length) twice.push(`${method} ${path}`);
      }
    }
    expect(twice).toEqual([]);
  });

  it('the OpenAPI document passes the linter', () => {
    expect(execFileSync(process.execPath, ['tools/lint/openapi.mjs']).toString()).toBe('openapi: 0 problems\n');
  });

  it('the OpenAPI document is served as a page with its assets', async () => {
    const harness = await startHarness(standalone);
    try {
      const door = await harness.http.get('/');
      expect([door.status, door.headers.get('location')]).toEqual([302, '/app']);
      const page = await harness.http.get('/api/docs');
      expect(page.headers.get('content-type')).toMatch('text/html');
      for (const [, file] of page.text.matchAll(/(?:src|href)="([^"]+)"/g)) {
        expect((await harness.http.get(file!)).status).toBe(200);
      }
      expect((await harness.http.get('/api/docs/package.json')).status).toBe(404);
    } finally {
      await harness.close();
    }
  });
});
