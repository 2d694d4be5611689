import { pino, type DestinationStream, type Logger as Pino } from 'pino';
import type { LoggerService } from '@nestjs/common';
import { getRequestContext } from '../context/request-context';
import { getTraceId } from '../context/trace';

/** Properties that are redacted in log lines, at the top level and up to two levels below it. */
const secretNames = [
  'password',
  'adminPassword',
  'oldPassword',
  'newPassword',
  'secret',
  'apiKey',
  'token',
  'authorization',
  'cookie',
  'signingSecret',
  'masterKeys',
  '["x-api-key"]',
  '["x-cron-key"]',
  '["set-cookie"]',
  '["x-service-signature"]',
];
const redactedPaths = secretNames.flatMap((name) =>
  name.startsWith('[') ? [name, `*${name}`, `*.*${name}`] : [name, `*.${name}`, `*.*.${name}`],
);

/** Matches API keys, session tokens and passwords in URLs anywhere in a text. */
const credentialPattern = /\b(msk_[a-z0-9]{8,32}_|mse_[0-9a-f-]{36}_)[A-Za-z0-9_-]+|\/\/([^/\s:@]*):[^@\s/]+@/g;

export function createLogger(options: { app: string; level: string; destination?: DestinationStream }): Pino {
  return pino(
    {
      level: options.level,
      base: { app: options.app, pid: process.pid },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      mixin: getLogContext,
      redact: { paths: redactedPaths, censor: '[redacted]' },
      hooks: {
        logMethod(args, method) {
          method.apply(
            this,
            args.map((arg: unknown) => (typeof arg === 'string' ? hideCredentials(arg) : arg)) as never,
          );
        },
      },
      serializers: {
        err: (error: Error) => ({
          type: error.name,
          message: hideCredentials(error.message ?? ''),
          code: (error as { code?: unknown }).code,
          stack: hideCredentials(error.stack ?? ''),
        }),
      },
    },
    options.destination ?? pino.destination({ fd: 1, sync: false }),
  );
}

/** Returns the context of the current work. The trace id is a separate field, because people search for it. */
function getLogContext(): object {
  const context = getRequestContext();
  return context ? { ...context, traceId: getTraceId(context.traceparent), origin: undefined } : {};
}

export function hideCredentials(text: string): string {
  return text.replaceAll(credentialPattern, (_, prefix: string | undefined, user: string | undefined) =>
    prefix ? `${prefix}[redacted]` : `//${user ?? ''}:[redacted]@`,
  );
}

/** Log contexts of Nest's own start messages: one line for each module and route, which are left out. */
const wiring = new Set(['InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestFactory', 'NestApplication']);

/** Writes Nest's log through pino, so that every class can log with `new Logger(TheClass.name)`. */
export class NestLogger implements LoggerService {
  constructor(private readonly pino: Pino) {}

  log(message: unknown, ...rest: unknown[]) {
    this.writeLogLine('info', message, rest);
  }
  error(message: unknown, ...rest: unknown[]) {
    this.writeLogLine('error', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]) {
    this.writeLogLine('warn', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]) {
    this.writeLogLine('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]) {
    this.writeLogLine('trace', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]) {
    this.writeLogLine('fatal', message, rest);
  }

  private writeLogLine(
    level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal',
    message: unknown,
    rest: unknown[],
  ) {
    const context = typeof rest.at(-1) === 'string' ? (rest.at(-1) as string) : undefined;
    if (level === 'info' && wiring.has(context ?? '')) return;
    const err = [message, ...rest].find((part) => part instanceof Error);
    const fields = rest.find((part) => typeof part === 'object' && part !== null && !(part instanceof Error));
    const text = message instanceof Error ? message.message : typeof message === 'string' ? message : undefined;
    const own = text === undefined ? message : undefined;
    this.pino[level]({ context, ...(fields as object), ...(own as object), ...(err ? { err } : {}) }, text ?? '');
  }
}
