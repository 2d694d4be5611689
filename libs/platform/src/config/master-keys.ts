export interface MasterKey {
  id: string;
  key: Buffer;
}

/** Reads `<id>:<base64 of 32 bytes>,…`; every fault names the key, never its value. */
export function readMasterKeys(text: string): { keys: MasterKey[]; faults: string[] } {
  const faults: string[] = [];
  const keys = text.split(',').map((entry, at) => {
    const [id = '', value] = entry.trim().split(':');
    const key = Buffer.from(value ?? '', 'base64');
    // What has no colon may be a key without its id.
    if (value === undefined) faults.push(`MASTER_KEYS: key ${at + 1} is not <id>:<base64 of 32 bytes>`);
    else if (!/^[a-zA-Z0-9_-]{1,32}$/.test(id)) faults.push('MASTER_KEYS: a key has no id of letters and digits');
    else if (key.length !== 32) faults.push(`MASTER_KEYS: key ${id} is not the base64 of 32 bytes`);
    return { id, key };
  });
  if (new Set(keys.map(({ id }) => id)).size !== keys.length) faults.push('MASTER_KEYS: two keys share an id');
  return { keys, faults };
}
