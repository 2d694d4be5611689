import type { ClientBase, Submittable } from 'pg';

/** The part of pg's connection that a statement speaks to; its own type declarations are older than it. */
export interface WireConnection {
  stream: { writable: boolean; write(bytes: Buffer): void };
  sendCopyFail(reason: string): void;
}

export type WireValue = string | Buffer | null;

export interface WireColumn {
  name: string;
  dataTypeID: number;
}

/** What pg's client calls on a statement that it did not make itself, as pg-cursor's. */
export interface WireStatement {
  submit(connection: WireConnection): Error | undefined;
  callback(error: Error | null, ...answer: unknown[]): void;
  handleRowDescription(message: { fields: WireColumn[] }): void;
  handleDataRow(message: { fields: (string | null)[] }): void;
  handleCommandComplete(message: { text: string }, connection: WireConnection): void;
  handleEmptyQuery(): void;
  handlePortalSuspended(): void;
  handleCopyInResponse(connection: WireConnection): void;
  handleCopyData(): void;
  handleReadyForQuery(): void;
  handleError(error: Error, connection: WireConnection): void;
}

export function submit(client: ClientBase, statement: WireStatement): void {
  client.query(statement as unknown as Submittable);
}

declare module 'pg' {
  /** How pg writes a value into a parameter; exported, but not declared. */
  export const utils: { prepareValue(value: unknown): WireValue };
}
