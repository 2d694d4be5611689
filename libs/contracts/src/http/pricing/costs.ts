import {
  BooleanField,
  DateTimeField,
  DayField,
  EnumField,
  IntField,
  ListField,
  NumberField,
  ObjectField,
  TextField,
  UuidField,
} from '../fields';
import { IdleSavings } from '../agents/idle-savings';

export const costKinds = ['ai', 'compute', 'reported'] as const;
export const costUnits = ['input_token', 'output_token', 'hour', 'reported'] as const;
const costGroupings = ['day', 'workflow', 'agent', 'model', 'schedule'] as const;
export type CostGrouping = (typeof costGroupings)[number];

export class CostComponent {
  @EnumField(costKinds, {
    description: 'reported: what its worker says that the run cost beyond everything else.',
  })
  kind!: (typeof costKinds)[number];
  @TextField({ optional: true, example: 'openai' }) provider?: string;
  @TextField({ optional: true, example: 'gpt-4.1-mini' }) model?: string;
  @NumberField({ example: 812 }) quantity!: number;
  @EnumField(costUnits) unit!: (typeof costUnits)[number];
  @NumberField({
    example: 0.0000004,
    description:
      'What one of the unit costs; where the price changed in the middle of the run, what it cost on average.',
  })
  unitPriceUsd!: number;
  @NumberField({ example: 0.000325 }) amountUsd!: number;
  @BooleanField({ optional: true, description: 'No price of the model was known at the time.' }) unpriced?: boolean;
}

export class JobCost {
  @UuidField() jobId!: string;
  @NumberField({ example: 0.060325, description: 'The sum of the amounts, and the job’s totalCostUsd.' })
  totalUsd!: number;
  @DateTimeField({ nullable: true, description: 'null: the run has not ended, or its cost is about to be computed.' })
  computedAt!: string | null;
  @ListField(() => CostComponent) components!: CostComponent[];
}

export class CostsQuery {
  @DayField({
    optional: true,
    description: 'The first day, in the organization’s time zone; 29 days before `to` when absent.',
  })
  from?: string;
  @DayField({ optional: true, description: 'The last day; today when absent.' }) to?: string;
  @EnumField(costGroupings, { optional: true, description: '`day` when absent.' }) groupBy?: CostGrouping;
}

export class CostGroup {
  @TextField({
    max: 400,
    example: '2026-01-31',
    description:
      'A day, the id of a workflow, an agent or a schedule, `provider/model`; `none` for what has no such thing.',
  })
  key!: string;
  @TextField({ max: 400, example: '2026-01-31', description: 'Its name, for people.' }) label!: string;
  @IntField({ example: 42 }) runs!: number;
  @NumberField({ example: 1.25 }) aiUsd!: number;
  @NumberField({ example: 0.5 }) computeUsd!: number;
  @NumberField({ example: 0 }) reportedUsd!: number;
  @NumberField({ example: 1.75 }) totalUsd!: number;
}

export class Costs {
  @DayField() from!: string;
  @DayField() to!: string;
  @EnumField(costGroupings) groupBy!: CostGrouping;
  @NumberField({ example: 1.75 }) totalUsd!: number;
  @ListField(() => CostGroup) groups!: CostGroup[];
  @ObjectField(() => IdleSavings, {
    description: 'What machines were on for without a run on these days; it is no part of the total.',
  })
  idle!: IdleSavings;
}
