import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeOrganization, startHarness, testMasterKey } from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { deriveAgentSigningSecrets, deriveSigningSecrets } from '../signing/signing-secrets';
import { loadSecretRedactor, createSecretRedactor } from './hide-secrets';

describe('hiding secrets', () => {
  const secret = 'pass"word & more';
  const { text, deep } = createSecretRedactor([secret, '4711', 'a line of it\nand another line', 'ab', '']);

  it.each<[string, string]>([
    ['in plain form', secret],
    ['in JSON', JSON.stringify({ secret })],
    ['in a URL', `?p=${encodeURIComponent(secret)}`],
    ...[0, 1, 2].map(
      (n) => [`in base64 after ${n} bytes`, Buffer.from('x'.repeat(n) + secret).toString('base64')] as [string, string],
    ),
    ['in base64url', Buffer.from(`??>${secret}`).toString('base64url')],
    ['if only one of its lines appears', 'it said and another line to me'],
  ])('a secret is hidden %s', (_, leak) => {
    const hidden = text(leak);
    expect(hidden).toContain('[secret]');
    expect(hidden).not.toContain('word');
  });

  it('a text in the format of a Muster credential is hidden even if it is not a known secret', () => {
    const keys = ['msk_abcdefgh_0123456789abcdef0', 'mss_0123456789abcdefghij', 'mse_0192f0c4-7b8e-7d3a_0123456789'];
    expect(text(keys.join(' '))).toBe('[secret] [secret] [secret]');
  });

  it('secrets are hidden everywhere in a JSON value, also as a key or a number', () => {
    expect(deep({ a: [secret, { [secret]: 4711 }], b: 47110, c: null, d: true })).toEqual({
      ...{ a: ['[secret]', { '[secret]': '[secret]' }], b: 47110, c: null, d: true },
    });
  });

  it('secrets are not hidden within ids, or if they have only two characters', () => {
    const id = '0192f0c4-4711-7d3a-9c55-2f4a6b8c0d1e';
    expect(deep({ id, word: 'about' })).toEqual({ id, word: 'about' });
    expect(createSecretRedactor([id]).deep(id)).toBe('[secret]');
    expect(createSecretRedactor([]).text('nothing to hide')).toBe('nothing to hide');
  });
});

describe('loadSecretRedactor', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('loadSecretRedactor hides the signing secrets of the organization and of the agent, also in base64', async () => {
    const keyRing = KeyRing.parseKeyRing(testMasterKey);
    const { id: organizationId } = await makeOrganization(harness.db);
    const agentId = newId();
    const hidden = await loadSecretRedactor({ database: harness.db, keyRing }, { organizationId, agentId });
    const ofAgent = deriveAgentSigningSecrets(keyRing, { organizationId, agentId })[0]!;
    for (const secret of [deriveSigningSecrets(keyRing, organizationId)[0]!, ofAgent]) {
      const encoded = Buffer.from(`secret: ${secret}.`).toString('base64');
      expect(hidden.text(encoded)).toContain('[secret]');
      expect(hidden.text(encoded).length).toBeLessThan(encoded.length / 2);
    }
    const ofOther = deriveAgentSigningSecrets(keyRing, { organizationId, agentId: newId() })[0]!;
    expect(hidden.text(Buffer.from(ofOther).toString('base64'))).not.toContain('[secret]');
  });
});
