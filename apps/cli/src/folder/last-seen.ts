import { join } from 'node:path';
import { readPlainFile, writePlainFile } from './plain-file';

const file = '.muster.json';

interface Kept {
  /** Digest of each workflow's content at the last pull or push, by address of the service and then by workflow id. */
  services: Record<string, Record<string, string>>;
}

/**
 * Remembers the digest of each workflow at the last pull or push. If both the folder and the service differ from that
 * digest, there is a conflict.
 */
export class LastSeen {
  private readonly kept: Kept;
  private readonly own: Record<string, string>;

  constructor(
    private readonly folder: string,
    url: string,
  ) {
    this.kept = read(join(folder, file));
    this.own = this.kept.services[url] ??= {};
  }

  of(id: string): string | undefined {
    return this.own[id];
  }

  set(id: string, digest: string): void {
    this.own[id] = digest;
  }

  save(): void {
    writePlainFile(join(this.folder, file), `${JSON.stringify(this.kept, null, 2)}\n`);
  }
}

function read(path: string): Kept {
  const text = readPlainFile(path)?.toString() ?? '{}';
  try {
    const { services } = JSON.parse(text) as Partial<Kept>;
    return { services: services ?? {} };
  } catch {
    return { services: {} };
  }
}
