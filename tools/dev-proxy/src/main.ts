import { startDevProxy } from './dev-proxy';

/** Started by tools/serve, which sets the ports. */
async function runDevProxy(): Promise<void> {
  const { PORT, DEV_PROXY_APPS } = process.env;
  if (!PORT || !DEV_PROXY_APPS) throw new Error('start it with `nx serve dev-proxy`');
  const proxy = await startDevProxy({ port: Number(PORT), apps: JSON.parse(DEV_PROXY_APPS) });
  console.log(`listening on ${proxy.url}`);
  const shutDown = () => void proxy.close().then(() => process.exit(0));
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(event, shutDown);
}

runDevProxy().catch((error: Error) => {
  console.error(`dev-proxy: ${error.message}`);
  process.exit(1);
});
