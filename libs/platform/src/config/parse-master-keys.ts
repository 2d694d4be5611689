export interface MasterKey {
  id: string;
  key: Buffer;
}

/** Parses `<id>:<base64 of 32 bytes>,…`. Each error names the key by its id or number and never contains its value. */
export function parseMasterKeys(text: string): { keys: MasterKey[]; faults: string[] } {
  const faults: string[] = [];
  const keys = text.split(',').map((entry, at) => {
    const [id = '', value] = entry.trim().split(':');
    const key = Buffer.from(value ?? '', 'base64');
    // An entry without a colon may be a secret key without an id, so the error must not contain the entry.
    if (value === undefined) faults.push(`MASTER_KEYS: key ${at + 1} does not have the form <id>:<base64 of 32 bytes>`);
    else if (!/^[a-zA-Z0-9_-]{1,32}$/.test(id))
      faults.push('MASTER_KEYS: the id of a key must have 1 to 32 letters, digits, hyphens or underscores');
    else if (key.length !== 32) faults.push(`MASTER_KEYS: key ${id} must be 32 bytes in base64`);
    return { id, key };
  });
  if (new Set(keys.map(({ id }) => id)).size !== keys.length) faults.push('MASTER_KEYS: two keys share an id');
  return { keys, faults };
}
