import { hkdfSync } from 'node:crypto';

export interface MasterKey {
  id: string;
  key: Buffer;
}

/** The master keys by age: the first one seals, all of them open. */
export class KeyRing {
  private constructor(private readonly keys: readonly MasterKey[]) {}

  /** Reads `<id>:<base64 of 32 bytes>,…`; every fault names the key, never its value. */
  static parse(text: string): KeyRing {
    const keys = text.split(',').map((entry) => {
      const [id = '', value = ''] = entry.trim().split(':');
      if (!/^[a-zA-Z0-9_-]{1,32}$/.test(id)) throw new Error('MASTER_KEYS: a key has no id of letters and digits');
      const key = Buffer.from(value, 'base64');
      if (key.length !== 32) throw new Error(`MASTER_KEYS: key ${id} is not the base64 of 32 bytes`);
      return { id, key };
    });
    if (new Set(keys.map(({ id }) => id)).size !== keys.length) throw new Error('MASTER_KEYS: two keys share an id');
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
    return this.keys.map(({ key }) => Buffer.from(hkdfSync('sha256', key, subject, `muster/${purpose}/v1`, 32)));
  }
}
