/** Days, the last one included. */
export interface Range {
  from: string;
  to: string;
}
