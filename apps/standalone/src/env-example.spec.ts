import { readFileSync } from 'node:fs';
import { listVariables } from '@muster/platform';
import { writeEnvExample } from './env-example';
import { standalone } from './standalone';

describe('.env.example', () => {
  const text = readFileSync('.env.example', 'utf8');

  it('.env.example matches the configuration classes; npm run generate updates it', () => {
    expect(text).toBe(writeEnvExample(standalone.configs));
  });

  it('.env.example lists each variable once', () => {
    const names = [...text.matchAll(/^(?:# )?([A-Z0-9_]+)=/gm)].map(([, name]) => name);
    expect(new Set(names).size).toBe(names.length);
    const declared = new Set(standalone.configs.flatMap(listVariables).map(({ name }) => name));
    expect(new Set(names)).toEqual(declared);
  });
});
