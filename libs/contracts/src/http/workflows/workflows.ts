import { DateTimeField, IntField, JsonListField, ListField, TextField, TextListField, UuidField } from '../fields';
import { PageQuery } from '../pages';

const name = { max: 200, example: 'Download EOBs' };
const description = { min: 0, max: 10_000, example: 'Signs in to the portal and downloads what is new.' };
const variables = { max: 128, maxItems: 200, example: ['CLAIM_ID'], description: 'The names that a run must give.' };
const script = {
  min: 0,
  max: 1_000_000,
  example: "import os\n\nprint('claim', os.environ['CLAIM_ID'])\n",
  description: 'Python. It runs on the agent as it is.',
};
const steps = {
  maxItems: 2000,
  example: [{ id: 'open', type: 'navigate', url: 'https://example.com' }],
  description: 'Each with id, type, and what its type needs.',
};

export class Workflow {
  @UuidField() id!: string;
  @TextField(name) name!: string;
  @TextField(description) description!: string;
  @TextListField(variables) variables!: string[];
  @TextField(script) script!: string;
  @JsonListField(steps) steps!: Record<string, unknown>[];
  @IntField({ min: 1, example: 3 }) revision!: number;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class WorkflowSummary {
  @UuidField() id!: string;
  @TextField(name) name!: string;
  @TextField(description) description!: string;
  @TextListField(variables) variables!: string[];
  @IntField({ min: 1, example: 3 }) revision!: number;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class WorkflowList {
  @ListField(() => WorkflowSummary) workflows!: WorkflowSummary[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class WorkflowQuery extends PageQuery {
  @TextField({ optional: true, max: 200, description: 'Part of the name, in any case.' }) q?: string;
}

export class CreateWorkflowBody {
  @TextField(name) name!: string;
  @TextField({ ...description, optional: true }) description?: string;
  @TextListField({ ...variables, optional: true }) variables?: string[];
  @TextField({ ...script, optional: true }) script?: string;
  @JsonListField({ ...steps, optional: true }) steps?: Record<string, unknown>[];
}

export class SaveWorkflowBody {
  @TextField({ ...script, optional: true }) script?: string;
  @JsonListField({ ...steps, optional: true }) steps?: Record<string, unknown>[];
  @TextListField({ ...variables, optional: true }) variables?: string[];
}

export class UpdateWorkflowBody {
  @TextField({ ...name, optional: true }) name?: string;
  @TextField({ ...description, optional: true }) description?: string;
}

export class WorkflowRevision {
  @IntField({ min: 1, example: 3 }) revision!: number;
  @TextListField(variables) variables!: string[];
  @TextField(script) script!: string;
  @JsonListField(steps) steps!: Record<string, unknown>[];
  @IntField({ min: 1, nullable: true, example: 1 }) restoredFrom!: number | null;
  @TextField({ example: 'dana@example.com' }) savedBy!: string;
  @DateTimeField() createdAt!: string;
}

export class WorkflowRevisionList {
  @ListField(() => WorkflowRevision) revisions!: WorkflowRevision[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
