import { writeFileSync } from 'node:fs';
import { createApp, loadConfigs } from '@muster/platform';
import { openApiOf } from './openapi';
import { standalone } from './standalone';

/** `npm run openapi`: writes the document down where the gateway reads it. Nothing is connected to. */
async function main(file: string): Promise<void> {
  const nowhere = 'localhost:1';
  const configs = loadConfigs(standalone.configs, {
    DATABASE_URL: `postgres://${nowhere}/none`,
    REDIS_URL: `redis://${nowhere}`,
    PUBLIC_APP_URL: `http://${nowhere}`,
    MASTER_KEYS: `none:${Buffer.alloc(32).toString('base64')}`,
    LOG_LEVEL: 'silent',
  });
  const app = await createApp({ ...standalone, configs });
  writeFileSync(file, `${JSON.stringify(openApiOf(app.nest), null, 2)}\n`);
  process.exit(0);
}

void main('libs/contracts/openapi.json');
