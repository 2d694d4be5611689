import { createHash } from 'node:crypto';
import type { AccessRow } from '../list-accesses';
import type { AuditRow } from '../list-audit';
import { toCanonicalJson } from './canonical-json';
import { computeRowDigest, formatRowAsJson } from './presented-rows';

describe('the JSON of hashed rows', () => {
  it('canonicalJson writes the examples of RFC 8785', () => {
    const sample = {
      numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\u0022/",
      literals: [null, true, false],
    };
    expect(toCanonicalJson(sample)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
    const names = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 };
    expect(Object.values(JSON.parse(toCanonicalJson(names)) as object)).toHaveLength(7);
    expect([...toCanonicalJson(names).matchAll(/:(\d)/g)].map(([, value]) => value).join('')).toBe('2467153');
  });

  it('canonicalJson leaves out undefined members, sorts nested ones and adds no white space', () => {
    expect(toCanonicalJson({ b: [{ d: undefined, c: { z: 1, a: -0 } }], a: undefined })).toBe(
      '{"b":[{"c":{"a":0,"z":1}}]}',
    );
  });

  const at = new Date('2026-03-02T09:00:00.000Z');
  const id = '01951b6c-5a80-7000-8000-000000000001';
  const entry: AuditRow = {
    id,
    at,
    actorKind: 'user',
    actorId: 'u',
    actorEmail: 'a@example.com',
    action: 'user.update',
    targetType: 'user',
    targetId: 't',
    changes: { role: ['member', 'admin'] },
    requestId: null,
  };
  const access: AccessRow = {
    id,
    at,
    actorKind: 'api_key',
    actorId: 'k',
    actorEmail: null,
    address: '203.0.113.7',
    route: 'GET /api/jobs/{id}',
    subjectType: 'run',
    subjectId: 'j',
  };

  it('the JSON form 1 of log rows never changes, because the hashes of closed days were computed from it', () => {
    expect(formatRowAsJson('audit', entry, 1)).toBe(
      `{"action":"user.update","actor":{"email":"a@example.com","id":"u","kind":"user"},"at":"2026-03-02T09:00:00.000Z",` +
        `"changes":{"role":["member","admin"]},"id":"${id}","requestId":null,"target":{"id":"t","type":"user"}}`,
    );
    expect(formatRowAsJson('access', access, 1)).toBe(
      `{"address":"203.0.113.7","at":"2026-03-02T09:00:00.000Z","id":"${id}","route":"GET /api/jobs/{id}",` +
        `"subject":{"id":"j","type":"run"},"who":{"id":"k","kind":"api_key"}}`,
    );
    expect(() => formatRowAsJson('access', access, 999)).toThrow(/newer/);
  });

  it('the digest of a row depends on its organization and on each of its fields', () => {
    const digest = (row: object, organization = 'o') =>
      computeRowDigest('access', organization, row as AccessRow).toString('hex');
    expect(digest(access)).toBe(
      createHash('sha256')
        .update(`o\n${formatRowAsJson('access', access)}`)
        .digest('hex'),
    );
    const others = Object.keys(access).map((field) =>
      digest({ ...access, [field]: field === 'at' ? new Date(0) : 'other' }),
    );
    expect(new Set([digest(access), digest(access, 'p'), ...others]).size).toBe(others.length + 2);
  });
});
