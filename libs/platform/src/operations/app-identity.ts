import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AppName } from '@muster/contracts';

/** Name and version of the app that a process runs. */
export class AppIdentity {
  constructor(
    readonly name: AppName,
    readonly version: string,
  ) {}
}

/** Reads the version of the service from the package.json of the repository. */
export function readServiceVersion(): string {
  return (JSON.parse(readFileSync(findPackageFile(), 'utf8')) as { version: string }).version;
}

/** Returns the path of package.json. The compiled code in `dist` has the same folder structure as the sources. */
function findPackageFile(): string {
  const root = join(__dirname, '../../../..');
  return root.endsWith('dist') ? join(root, '../package.json') : join(root, 'package.json');
}
