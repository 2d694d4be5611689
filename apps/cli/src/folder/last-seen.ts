import { join } from 'node:path';
import { readPlainFile, writePlainFile } from './plain-file';

const file = '.muster.json';

interface StoredDigests {
  /** Digest of each workflow's content at the last pull or push, by address of the service and then by workflow id. */
  services: Record<string, Record<string, string>>;
}

/**
 * Remembers the digest of each workflow at the last pull or push. If both the folder and the service differ from that
 * digest, there is a conflict.
 */
export class LastSeen {
  private readonly stored: StoredDigests;
  private readonly own: Record<string, string>;

  constructor(
    private readonly folder: string,
    url: string,
  ) {
    this.stored = readLastSeenFile(join(folder, file));
    this.own = this.stored.services[url] ??= {};
  }

  getDigest(id: string): string | undefined {
    return this.own[id];
  }

  setDigest(id: string, digest: string): void {
    this.own[id] = digest;
  }

  saveDigests(): void {
    writePlainFile(join(this.folder, file), `${JSON.stringify(this.stored, null, 2)}\n`);
  }
}

function readLastSeenFile(path: string): StoredDigests {
  const text = readPlainFile(path)?.toString() ?? '{}';
  try {
    const { services } = JSON.parse(text) as Partial<StoredDigests>;
    return { services: services ?? {} };
  } catch {
    return { services: {} };
  }
}
