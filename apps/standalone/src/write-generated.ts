import { writeFileSync } from 'node:fs';
import { createApp, loadConfigs } from '@muster/platform';
import { writeEnvExample } from './env-example';
import { buildOpenApiDocument } from './openapi';
import { standalone } from './standalone';

/** `npm run generate`: writes the files that are generated from the code. It connects to no database or service. */
async function writeGeneratedFiles(): Promise<void> {
  const nowhere = 'localhost:1';
  const configs = loadConfigs(standalone.configs, {
    DATABASE_URL: `postgres://${nowhere}/none`,
    REDIS_URL: `redis://${nowhere}`,
    PUBLIC_APP_URL: `http://${nowhere}`,
    MASTER_KEYS: `none:${Buffer.alloc(32).toString('base64')}`,
    LOG_LEVEL: 'silent',
  });
  const app = await createApp({ ...standalone, configs });
  writeFileSync('libs/contracts/openapi.json', `${JSON.stringify(buildOpenApiDocument(app.nest), null, 2)}\n`);
  writeFileSync('.env.example', writeEnvExample(standalone.configs));
  process.exit(0);
}

void writeGeneratedFiles();
