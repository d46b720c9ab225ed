// NumPy .npz: a ZIP archive of .npy members; dense arrays, or one sparse matrix as scipy saves it.
#pragma once

#include <weft/formats/io/bytes.h>
#include <weft/formats/io/weight_list.h>

#include <string>
#include <vector>

namespace weft::io {

/// A sparse matrix saved by scipy when the members say so and no name is asked for; otherwise the dense
/// member of that name, or the only one of two or more dimensions. UserError naming the member for everything
/// else; an archive that torch.save wrote is refused as a pickle.
WeightMatrix parse_npz_weights(Bytes bytes, const std::string& origin, const ReadOptions& options = {});

/// The dense members, or the one sparse matrix, by their headers.
std::vector<ListedWeight> list_npz(Bytes bytes, const std::string& path);

/// The dense member of that name, or the only one.
Array parse_npz_array(Bytes bytes, const std::string& origin, const ReadOptions& options = {});

}  // namespace weft::io
