import { DateTimeField, JsonField, ListField, TextField, UuidField } from '../fields';

const name = { max: 200, pattern: /^[A-Za-z0-9][A-Za-z0-9 ._:/-]*$/, example: 'read-ledger' };
const code = {
  max: 500_000,
  description: 'Python code. The variable args is a dict of the arguments.',
  example: 'print(args)',
};
const parameters = {
  optional: true,
  description:
    'Description of the arguments, in any form. The description is stored and returned, but arguments are not ' +
    'validated with it.',
};

/** Stored Python code that can be run by its name. */
export class AgentFunction {
  @UuidField() id!: string;
  @TextField(name) name!: string;
  @TextField({ min: 0, max: 2000, example: 'Reads a patient’s ledger.' }) description!: string;
  @JsonField({ example: { patient: 'string' } }) parameters!: Record<string, unknown>;
  @TextField(code) code!: string;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class AgentFunctionList {
  @ListField(() => AgentFunction) functions!: AgentFunction[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class CreateFunctionBody {
  @TextField({
    ...name,
    description:
      'Name of the function. A function with the name builder:<portal>:<phase> contains the code that POST ' +
      '/api/agents/{id}/builder/run runs for this portal and phase by default.',
  })
  name!: string;
  @TextField({ optional: true, min: 0, max: 2000 }) description?: string;
  @JsonField(parameters) parameters?: Record<string, unknown>;
  @TextField(code) code!: string;
}

export class UpdateFunctionBody {
  @TextField({ ...name, optional: true }) name?: string;
  @TextField({ optional: true, min: 0, max: 2000 }) description?: string;
  @JsonField(parameters) parameters?: Record<string, unknown>;
  @TextField({ ...code, optional: true }) code?: string;
}
