import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { BaseConfig } from '@muster/platform';
import { Client } from 'pg';

type Listener = { onNotification: (payload: string) => void; onLost: () => void };

/**
 * Receives Postgres notifications, which are sent when the change that they report commits. Notifications may be missed
 * while the connection is lost. Then the listeners are called, and must discard what they have cached.
 */
@Injectable()
export class PostgresListener implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(PostgresListener.name);
  private readonly listeners = new Map<string, Listener[]>();
  private client?: Client;
  private retry?: NodeJS.Timeout;
  private ended = false;

  constructor(@Inject(BaseConfig) private readonly config: BaseConfig) {}

  /** Whether notifications are received. If not, cached data cannot be trusted. */
  get isConnected(): boolean {
    return this.client !== undefined;
  }

  /** Registers a listener; call it before the app starts. A channel is a plain identifier. */
  listen(channel: string, listener: Listener): void {
    this.listeners.set(channel, [...(this.listeners.get(channel) ?? []), listener]);
  }

  onApplicationBootstrap(): void {
    if (this.listeners.size) void this.connect();
  }

  async onApplicationShutdown(): Promise<void> {
    this.ended = true;
    clearTimeout(this.retry);
    await this.client?.end().catch(() => undefined);
  }

  private async connect(): Promise<void> {
    const client = new Client({
      connectionString: this.config.databaseUrl,
      connectionTimeoutMillis: 2000,
      keepAlive: true,
      application_name: 'muster-listener',
    });
    let isClosed = false;
    const loseConnection = (error?: Error) => {
      if (isClosed) return;
      isClosed = true;
      client.end().catch(() => undefined);
      this.handleConnectionLoss(error);
    };
    client.on('error', loseConnection);
    client.on('end', () => loseConnection());
    client.on('notification', ({ channel, payload }) => {
      for (const { onNotification } of this.listeners.get(channel) ?? []) onNotification(payload ?? '');
    });
    try {
      await client.connect();
      for (const channel of this.listeners.keys()) await client.query(`LISTEN ${channel}`);
      this.client = client;
      for (const { onLost } of [...this.listeners.values()].flat()) onLost();
    } catch (error) {
      loseConnection(error as Error);
    }
  }

  private handleConnectionLoss(error?: Error): void {
    const wasConnected = this.isConnected;
    delete this.client;
    for (const { onLost } of [...this.listeners.values()].flat()) onLost();
    if (this.ended) return;
    if (wasConnected)
      this.logger.warn(
        `lost the connection for database notifications; reconnecting: ${error?.message ?? 'the connection ended'}`,
      );
    this.retry = setTimeout(() => void this.connect(), 500);
  }
}
