import { QueryIntField, TextField } from './fields';

/** What every list takes. */
export class PageQuery {
  @QueryIntField({ optional: true, min: 1, max: 200, description: 'How many to answer; 50 when absent.' })
  limit?: number;

  @TextField({ optional: true, max: 500, description: "The previous answer's nextCursor." })
  cursor?: string;
}
