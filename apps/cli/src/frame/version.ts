/** Defined by the one-file build. */
declare const EMBEDDED_VERSION: string | undefined;

export const version = typeof EMBEDDED_VERSION === 'string' ? EMBEDDED_VERSION : '0.0.0-source';
