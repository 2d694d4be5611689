import { DateTimeField, DayField, EnumField, IntField, ListField, TextField, UsdField, UuidField } from '../fields';

const maxModelPrices = 2000;
const perMillion = { max: 10_000, description: 'Price in USD of a million tokens.' };

export class ModelPriceInput {
  @TextField({
    max: 100,
    example: 'openai',
    description: 'Name of the provider. Provider and model are compared case-insensitively.',
  })
  provider!: string;
  @TextField({ max: 200, example: 'gpt-4.1-mini' }) model!: string;
  @UsdField({ ...perMillion, example: 0.4 }) inputUsdPerMillion!: number;
  @UsdField({ ...perMillion, example: 1.6 }) outputUsdPerMillion!: number;
  @DayField({
    example: '2026-01-01',
    description:
      'First day, in UTC, on which the price applies. The price applies until a later price of the model starts.',
  })
  from!: string;
}

export class PutModelPricesBody {
  @ListField(() => ModelPriceInput, { maxItems: maxModelPrices }) prices!: ModelPriceInput[];
}

export class ModelPrice extends ModelPriceInput {
  @EnumField(['default', 'organization'], {
    description: 'Origin of the price. An organization’s own prices take precedence over the default ones.',
  })
  source!: 'default' | 'organization';
}

export class ModelPriceList {
  @ListField(() => ModelPrice, { maxItems: 2 * maxModelPrices }) prices!: ModelPrice[];
}

export class RecomputeCostsBody {
  @DayField({
    example: '2026-01-01',
    description: 'First day of the period in which the runs ended, in the organization’s time zone.',
  })
  from!: string;
  @DayField({
    example: '2026-01-31',
    description: 'Last day of the period in which the runs ended, in the organization’s time zone.',
  })
  to!: string;
}

export class CostRecompute {
  @UuidField() recomputeId!: string;
  @DayField() from!: string;
  @DayField() to!: string;
  @EnumField(['running', 'done']) status!: 'running' | 'done';
  @IntField({ example: 412, description: 'Number of runs whose cost has been recomputed so far.' }) runs!: number;
  @IntField({ example: 12, description: 'Number of recomputed runs whose cost changed.' }) changed!: number;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
}
