export type LocalLog = (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;

/** JSON lines on stderr. The values of `secrets` never show, whoever put them into a message. */
export function localLog(write: (line: string) => void, secrets: () => string[]): LocalLog {
  return (level, message, fields = {}) => {
    let line = JSON.stringify({ time: new Date().toISOString(), level, message, ...fields });
    for (const secret of secrets()) if (secret) line = line.replaceAll(secret, '[redacted]');
    write(`${line}\n`);
  };
}
