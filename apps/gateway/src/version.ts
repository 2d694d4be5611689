import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The one version of everything: the repository's. */
export const version: string = (JSON.parse(readFileSync(packageFile(), 'utf8')) as { version: string }).version;

/** Above the sources as above the compiled code, which keeps the tree's shape. */
function packageFile(): string {
  const root = join(__dirname, '../../..');
  return root.endsWith('dist') ? join(root, '../package.json') : join(root, 'package.json');
}
