import { hkdfSync } from 'node:crypto';
import { type MasterKey, readMasterKeys } from '@muster/platform';

const derivedAtMost = 2000;

/** The master keys by age: the first one seals, all of them open. */
export class KeyRing {
  /** The latest ones, oldest first: each push to a worker asks for the same two. */
  private readonly derived = new Map<string, Buffer[]>();

  private constructor(private readonly keys: readonly MasterKey[]) {}

  /** Reads `<id>:<base64 of 32 bytes>,…`; every fault names the key, never its value. */
  static parse(text: string): KeyRing {
    const { keys, faults } = readMasterKeys(text);
    if (faults.length) throw new Error(faults.join('; '));
    return new KeyRing(keys);
  }

  get active(): MasterKey {
    return this.keys[0]!;
  }

  find(id: string): MasterKey | undefined {
    return this.keys.find((key) => key.id === id);
  }

  /** A secret of its own for a purpose and a subject, one from each master key, the active one's first. */
  derive(purpose: string, subject: string): Buffer[] {
    const name = `${purpose} ${subject}`;
    const known = this.derived.get(name);
    if (known) return known;
    const info = `muster/${purpose}/v1`;
    const secrets = this.keys.map(({ key }) => Buffer.from(hkdfSync('sha256', key, subject, info, 32)));
    this.derived.set(name, secrets);
    if (this.derived.size > derivedAtMost) this.derived.delete(this.derived.keys().next().value!);
    return secrets;
  }
}
