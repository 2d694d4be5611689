import { convertToCsv } from './typed-rows';

describe('rows typed into the batch dialog', () => {
  it('each line is a value of the only variable, with its commas and quotes', () => {
    expect(convertToCsv('C-1\r\n\n Doe, "Jane" \n', ['CLAIM'])).toBe('"CLAIM"\n"C-1"\n"Doe, ""Jane"""\n');
  });

  it('cells from a spreadsheet are separated by tabs, and typed ones by commas', () => {
    expect(convertToCsv('Doe, Jane\tAcme\n"Roe, Rick",Best', ['PATIENT', 'PAYER'])).toBe(
      '"PATIENT","PAYER"\n"Doe, Jane","Acme"\n"Roe, Rick",Best\n',
    );
  });

  it('a first line with the names of all variables names the columns', () => {
    expect(convertToCsv('payer, patient\nAcme,Doe', ['PATIENT', 'PAYER'])).toBe('"PAYER","PATIENT"\nAcme,Doe\n');
    expect(convertToCsv('payer,payer\nAcme,Doe', ['PATIENT', 'PAYER'])).toBe(
      '"PATIENT","PAYER"\npayer,payer\nAcme,Doe\n',
    );
  });

  it('a text without rows gives an empty CSV', () => {
    expect(convertToCsv(' \n', ['CLAIM'])).toBe('');
  });
});
