import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import type { BaseConfig } from './config/base.config';
import { ConfigError, type Environment, loadConfigs, processEnvironment } from './config/env';
import { type App, type AppDefinition, createApp } from './create-app';
import { boundGarbage } from './operations/bound-garbage';
import { startInternalServer } from './operations/internal-server';

export interface RunOptions {
  name: AppDefinition['name'];
  configs: [new () => BaseConfig, ...(new () => BaseConfig)[]];
  modules: AppDefinition['modules'];
  env?: Environment;
}

/** A service's main: configuration, both ports, signals. It ends the process itself when it cannot go on. */
export async function runApp({ name, configs: types, modules, env = processEnvironment }: RunOptions): Promise<void> {
  boundGarbage();
  const logger = new Logger(name);
  try {
    const configs = loadConfigs(types, env);
    const [config] = configs;
    const app = await createApp({ name, configs, modules });
    endOnSignals(app, config.shutdownTimeoutMs, logger);
    const { metrics, readiness } = app;
    const internal = await startInternalServer({
      host: config.internalHost,
      port: config.internalPort,
      readiness,
      metrics,
    });
    await app.nest.listen(config.port, config.host);
    logger.log('listening', { url: await app.nest.getUrl(), internalPort: internal.port });
    // A supervisor that started this process with a channel learns where it listens.
    process.send?.({ ready: true, url: await app.nest.getUrl(), internalPort: internal.port });
  } catch (error) {
    const message = error instanceof ConfigError ? error.message : explain(error, env);
    process.stderr.write(`${name}: ${message}\n`);
    process.exit(1);
  }
}

function explain(error: unknown, env: Environment): string {
  const { code, port, message, stack } = error as { code?: string; port?: number; message?: string; stack?: string };
  if (code === 'EADDRINUSE') return `port ${port ?? env['PORT']} is already in use; set PORT to a free one`;
  if (code === 'EACCES') return `port ${port ?? env['PORT']} cannot be used by this user; set PORT above 1023`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `HOST ${env['HOST'] ?? ''} is not an address of this machine`;
  return stack ?? message ?? String(error);
}

function endOnSignals(app: App, timeoutMs: number, logger: Logger): void {
  let ending = false;
  const end = (signal: string) => {
    if (ending) return;
    ending = true;
    logger.log(`${signal}: shutting down`);
    setTimeout(() => {
      logger.error(`the shutdown did not finish within ${timeoutMs} ms; exiting`);
      process.exit(1);
    }, timeoutMs).unref();
    app.close().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error('the shutdown failed', { err: error });
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => end('SIGTERM'));
  if (cluster.isWorker) {
    // What the terminal tells the whole group is for the supervisor, which ends its parts in order.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
    // Else Node would leave at once when the channel closes, and what we have begun would be left behind.
    cluster.worker!.exitedAfterDisconnect = true;
  } else {
    process.on('SIGINT', () => end('SIGINT'));
  }
  // A supervisor that died cannot send a signal any more; its channel closes.
  process.on('disconnect', () => end('supervisor gone'));
  process.on('unhandledRejection', (error) => logger.error('unhandled rejection', { err: error }));
  process.on('uncaughtException', (error) => {
    logger.fatal('uncaught exception', { err: error });
    process.exit(1);
  });
}
