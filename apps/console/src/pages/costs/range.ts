/** Range of days, both inclusive. */
export interface Range {
  from: string;
  to: string;
}
