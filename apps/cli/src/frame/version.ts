/** Version of Muster. Only the one-file build defines it. */
declare const EMBEDDED_VERSION: string | undefined;

export const version = typeof EMBEDDED_VERSION === 'string' ? EMBEDDED_VERSION : '0.0.0-source';
