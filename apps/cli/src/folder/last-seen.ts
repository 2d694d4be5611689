import { join } from 'node:path';
import { readPlainFile, writePlainFile } from './plain-file';

const file = '.muster.json';

interface Kept {
  /** By address of the service, then by workflow id: the digest of the content at the last pull or push. */
  services: Record<string, Record<string, string>>;
}

/** The workflow contents at the last pull or push, by which a change on both sides is detected as a conflict. */
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
