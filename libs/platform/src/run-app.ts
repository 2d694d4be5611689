import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import type { BaseConfig } from './config/base.config';
import { ConfigError, type Environment, loadConfigs, processEnvironment } from './config/env';
import { type App, type AppDefinition, createApp } from './create-app';
import { limitGarbageGrowth } from './operations/bound-garbage';
import { startInternalServer } from './operations/internal-server';

export interface RunOptions {
  name: AppDefinition['name'];
  configs: [new () => BaseConfig, ...(new () => BaseConfig)[]];
  modules: AppDefinition['modules'];
  env?: Environment;
}

/**
 * Entry point of a service: reads the configuration, opens both ports and handles signals. Exits the process if it
 * cannot start.
 */
export async function runApp({ name, configs: types, modules, env = processEnvironment }: RunOptions): Promise<void> {
  limitGarbageGrowth();
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
    // Reports the addresses to a supervisor that started this process with an IPC channel.
    process.send?.({ ready: true, url: await app.nest.getUrl(), internalPort: internal.port });
  } catch (error) {
    const message = error instanceof ConfigError ? error.message : explainStartError(error, env);
    process.stderr.write(`${name}: ${message}\n`);
    process.exit(1);
  }
}

function explainStartError(error: unknown, env: Environment): string {
  const { code, port, message, stack } = error as { code?: string; port?: number; message?: string; stack?: string };
  if (code === 'EADDRINUSE') return `port ${port ?? env['PORT']} is already in use; set PORT to a free one`;
  if (code === 'EACCES') return `port ${port ?? env['PORT']} cannot be used by this user; set PORT above 1023`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `HOST ${env['HOST'] ?? ''} is not an address of this machine`;
  return stack ?? message ?? String(error);
}

function endOnSignals(app: App, timeoutMs: number, logger: Logger): void {
  let ending = false;
  const shutDown = (signal: string) => {
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
  process.on('SIGTERM', () => shutDown('SIGTERM'));
  if (cluster.isWorker) {
    // The terminal sends these signals to the whole process group. The supervisor handles them and ends its processes
    // in order.
    for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
    // Without this, Node exits as soon as the channel to the supervisor closes, and does not finish the work in
    // progress.
    cluster.worker!.exitedAfterDisconnect = true;
  } else {
    process.on('SIGINT', () => shutDown('SIGINT'));
  }
  // A supervisor that was killed cannot send a signal, but its channel closes.
  process.on('disconnect', () => shutDown('supervisor gone'));
  process.on('unhandledRejection', (error) => logger.error('unhandled rejection', { err: error }));
  process.on('uncaughtException', (error) => {
    logger.fatal('uncaught exception', { err: error });
    process.exit(1);
  });
}
