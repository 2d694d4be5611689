import { hkdfSync } from 'node:crypto';
import { type MasterKey, parseMasterKeys } from '@muster/platform';

const maxCachedSecrets = 2000;

/** The master keys, newest first: the first one seals, and all of them open. */
export class KeyRing {
  /** Cache of derived secrets, oldest first, because each push to a worker needs the same two secrets. */
  private readonly derived = new Map<string, Buffer[]>();

  private constructor(private readonly keys: readonly MasterKey[]) {}

  /** Reads `<id>:<base64 of 32 bytes>,…`. Errors name the id or the position of a key, never its value. */
  static parseKeyRing(text: string): KeyRing {
    const { keys, faults } = parseMasterKeys(text);
    if (faults.length) throw new Error(faults.join('; '));
    return new KeyRing(keys);
  }

  get activeKey(): MasterKey {
    return this.keys[0]!;
  }

  findKey(id: string): MasterKey | undefined {
    return this.keys.find((key) => key.id === id);
  }

  /** Derives a separate secret for a purpose and a subject from each master key, the active key first. */
  deriveKeys(purpose: string, subject: string): Buffer[] {
    const name = `${purpose} ${subject}`;
    const cached = this.derived.get(name);
    if (cached) return cached;
    const info = `muster/${purpose}/v1`;
    const secrets = this.keys.map(({ key }) => Buffer.from(hkdfSync('sha256', key, subject, info, 32)));
    this.derived.set(name, secrets);
    if (this.derived.size > maxCachedSecrets) this.derived.delete(this.derived.keys().next().value!);
    return secrets;
  }
}
