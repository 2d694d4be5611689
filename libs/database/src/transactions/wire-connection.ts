import type { ClientBase, Submittable } from 'pg';

/** The part of pg's connection that a statement uses. pg's type declarations do not contain it. */
export interface WireConnection {
  stream: { writable: boolean; write(bytes: Buffer): void };
  sendCopyFail(reason: string): void;
}

export type WireValue = string | Buffer | null;

export interface WireColumn {
  name: string;
  dataTypeID: number;
}

/** The methods that pg's client calls on a statement that it did not create, such as one of pg-cursor. */
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

export function submitStatement(client: ClientBase, statement: WireStatement): void {
  client.query(statement as unknown as Submittable);
}

declare module 'pg' {
  /**
   * Functions that the package pg exports but that its type declarations lack. `prepareValue` converts a value to a
   * parameter.
   */
  export const utils: { prepareValue(value: unknown): WireValue };
}
